package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 760
	barsLeft   = 110 // where bars begin: names stand left of it
	barsWidth  = 460 // of a ratio of 1, or of the largest one above it
	barHeight  = 16
	barStep    = 22
	groupHead  = 30
)

// colour is the same in every chart for our own contenders; others, by their
// place, take what is left.
func colour(name string, place int) string {
	switch name {
	case plainName:
		return "#9aa5b1"
	case handName:
		return "#d08770"
	case oursName:
		return "#2f7ed8"
	}
	others := [...]string{"#6a9955", "#8e6bbf", "#c9a227"}
	return others[place%len(others)]
}

// chart is an SVG with a bar for every contender in every cell, as long as its
// rate relative to plain, with a line from the lowest to the highest ratio.
func (o outcome) chart() string {
	var b strings.Builder
	top := 80
	for _, r := range o.Results {
		b.WriteString(label(14, top+18, "start", 13, "600", r.Cell.String()+r.mark()))
		top += groupHead
		for i, s := range r.Standings {
			o.bar(&b, top, colour(s.Name, i), s)
			top += barStep
		}
		top += 10
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="system-ui, sans-serif" fill="#1f2933">`+"\n", chartWidth, top+10) +
		`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n" +
		label(14, 26, "start", 16, "700", "Messages/s relative to a plain consumer") +
		label(14, 46, "start", 11, "400", o.Method) +
		label(14, 62, "start", 11, "400", o.Place) + b.String() + "</svg>\n"
}

// bar draws one standing. One without a ratio, because there was no plain
// consumer, has only its text.
func (o outcome) bar(b *strings.Builder, top int, fill string, s standing) {
	middle := top + barHeight/2
	b.WriteString(label(barsLeft-8, middle+4, "end", 12, "400", s.Name))
	end := float64(barsLeft)
	if s.Ratio != nil {
		scale := barsWidth / o.longest()
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`+"\n",
			barsLeft, top, s.Ratio.Median*scale, barHeight, fill)
		fmt.Fprintf(b, `<path d="M%.1f %d H%.1f" stroke="#1f2933" stroke-width="1.5"/>`+"\n",
			barsLeft+s.Ratio.Low*scale, middle, barsLeft+s.Ratio.High*scale)
		end += s.Ratio.High * scale
	}
	b.WriteString(label(int(end)+8, middle+4, "start", 12, "400", caption(s)))
}

func caption(s standing) string {
	if s.Rate == nil {
		return "no valid run"
	}
	text := number(s.Rate.Median) + "/s"
	if s.Ratio != nil && s.Name != plainName {
		text = "× " + ratio(s.Ratio.Median) + ", " + text
	}
	return text
}

// longest is the largest ratio, at least 1.
func (o outcome) longest() float64 {
	most := 1.0
	for _, r := range o.Results {
		for _, s := range r.Standings {
			if s.Ratio != nil {
				most = max(most, s.Ratio.High)
			}
		}
	}
	return most
}

func label(x, y int, anchor string, size int, weight, text string) string {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // into memory
	return fmt.Sprintf(`<text x="%d" y="%d" text-anchor="%s" font-size="%d" font-weight="%s">%s</text>`+"\n",
		x, y, anchor, size, weight, escaped.String())
}
