package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// checkDocs finds exported names without a comment, and package comments whose
// first paragraph does not say when to use the package.
func checkDocs(m *module) ([]string, error) {
	var findings []string
	for _, p := range m.own {
		fset := token.NewFileSet()
		var about string
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			about += f.Doc.Text()
			if p.Name == "main" {
				continue
			}
			for _, id := range undocumented(f) {
				at := fset.Position(id.Pos())
				findings = append(findings, fmt.Sprintf("%s/%s:%d: %s has no comment",
					m.short(p.ImportPath), filepath.Base(at.Filename), at.Line, id.Name))
			}
		}
		if !strings.Contains(firstParagraph(about), "Use this when") {
			findings = append(findings, m.short(p.ImportPath)+`: the package comment's first paragraph lacks "Use this when …"`)
		}
	}
	slices.Sort(findings)
	return findings, nil
}

func firstParagraph(text string) string {
	first, _, _ := strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// undocumented returns the exported names of f that lack a comment: functions,
// methods of exported types, types, the methods of exported interfaces,
// constants and variables. A comment on a group speaks for the whole group, and
// one on an interface for its only method.
func undocumented(f *ast.File) []*ast.Ident {
	var found []*ast.Ident
	miss := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		documented := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" })
		if id.IsExported() && !documented {
			found = append(found, id)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiverExported(d) {
				miss(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						miss(id, d.Doc, s.Doc, s.Comment)
					}
				case *ast.TypeSpec:
					miss(s.Name, d.Doc, s.Doc, s.Comment)
					for _, method := range interfaceMethods(s) {
						miss(method.Names[0], method.Doc, method.Comment)
					}
				}
			}
		}
	}
	return found
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// interfaceMethods returns the methods of an exported interface type that need
// a comment of their own.
func interfaceMethods(s *ast.TypeSpec) []*ast.Field {
	t, ok := s.Type.(*ast.InterfaceType)
	if !ok || !s.Name.IsExported() {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(t.Methods.List), func(f *ast.Field) bool { return len(f.Names) == 0 })
	if len(named) == 1 {
		return nil
	}
	return named
}
