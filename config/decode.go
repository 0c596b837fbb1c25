package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// variable is the environment variable of a key: DEDUP_STORE_REDIS_DB for
// store.redis.db.
func variable(path string) string {
	return "DEDUP_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// decode merges tree and the environment and writes the result into c. Every
// variable is bound by name: viper's automatic lookup does not find keys that
// are absent from the file, and hides a whole section behind a variable that is
// called like it.
func decode(tree map[string]any, c *Config, r *report) error {
	v := viper.New()
	if err := v.MergeConfigMap(tree); err != nil {
		return err
	}
	for path := range schema().leaves("") {
		if err := v.BindEnv(path, variable(path)); err != nil {
			return err
		}
	}
	err := v.Unmarshal(c, func(d *mapstructure.DecoderConfig) {
		d.TagName, d.SquashTagOption, d.Squash = "yaml", "inline", true
		d.MatchName = func(key, field string) bool { return key == field }
		d.WeaklyTypedInput = false
		d.DecodeHook = mapstructure.DecodeHookFuncValue(convert)
	})
	return reportAll(err, r)
}

// reportAll breaks the decoder's error up into problems. It returns what it
// does not understand, which is no fault of the file.
func reportAll(err error, r *report) error {
	if place, ok := err.(*mapstructure.DecodeError); ok {
		if why, ok := place.Unwrap().(*mismatch); ok {
			r.wrong(place.Name(), why.value, "%s", why.want)
			return nil
		}
		return err
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() []error }:
		var rest []error
		for _, one := range wrapper.Unwrap() {
			rest = append(rest, reportAll(one, r))
		}
		return errors.Join(rest...)
	case interface{ Unwrap() error }:
		return reportAll(wrapper.Unwrap(), r)
	}
	return err
}

// mismatch is a value that does not fit its key.
type mismatch struct{ value, want string }

func (m *mismatch) Error() string { return m.value + ": " + m.want }

// convert turns what the file or the environment says into exactly the type of
// the key, so that nothing is left to a decoder's idea of a close match.
func convert(from, to reflect.Value) (any, error) {
	raw := from.Interface()
	switch to.Type() {
	case reflect.TypeFor[time.Duration]():
		return duration(raw)
	case reflect.TypeFor[Secret]():
		text, ok := raw.(string)
		if !ok {
			return nil, &mismatch{"", "want a text; put it in quotes"}
		}
		return Secret(text), nil
	}
	switch to.Kind() {
	case reflect.String:
		if _, ok := raw.(string); !ok {
			return nil, notText(raw)
		}
	case reflect.Int:
		return whole(raw)
	case reflect.Float64:
		return number(raw)
	case reflect.Bool:
		return truth(raw)
	case reflect.Slice:
		if text, ok := raw.(string); ok {
			return items(text), nil
		}
		if _, ok := raw.([]any); !ok {
			return nil, &mismatch{shown(raw), "want a list"}
		}
	}
	return raw, nil
}

func notText(raw any) error {
	if _, isList := raw.([]any); isList {
		return &mismatch{"", "want a text, not a list"}
	}
	return &mismatch{shown(raw), "want a text; put it in quotes"}
}

func duration(raw any) (any, error) {
	text, isText := raw.(string)
	if n, err := strconv.ParseFloat(fmt.Sprint(raw), 64); err == nil {
		example := raw
		if n <= 0 {
			example = 10
		}
		return nil, &mismatch{shown(raw), fmt.Sprintf("needs a unit, e.g. %vs", example)}
	}
	d, err := time.ParseDuration(text)
	if !isText || err != nil {
		return nil, &mismatch{shown(raw), "want a duration such as 500ms, 10s, 5m or 24h"}
	}
	if d <= 0 {
		return nil, &mismatch{shown(raw), "want a duration above zero"}
	}
	return d, nil
}

func whole(raw any) (any, error) {
	switch n := raw.(type) {
	case int:
		return n, nil
	case int64:
		if n == int64(int(n)) {
			return int(n), nil
		}
	case uint64:
		if n <= math.MaxInt {
			return int(n), nil
		}
	case json.Number:
		if i, err := strconv.Atoi(n.String()); err == nil {
			return i, nil
		}
	case string:
		if i, err := strconv.Atoi(n); err == nil {
			return i, nil
		}
	}
	return nil, &mismatch{shown(raw), "want a whole number"}
}

func number(raw any) (any, error) {
	if _, isBool := raw.(bool); !isBool {
		if n, err := strconv.ParseFloat(fmt.Sprint(raw), 64); err == nil {
			return n, nil
		}
	}
	return nil, &mismatch{shown(raw), "want a number such as 0.1"}
}

func truth(raw any) (any, error) {
	switch b := raw.(type) {
	case bool:
		return b, nil
	case string:
		if b == "true" || b == "false" {
			return b == "true", nil
		}
	}
	return nil, &mismatch{shown(raw), "want true or false"}
}

// items splits a list that is written as one text, as it is in the environment.
func items(text string) []string {
	var list []string
	for _, item := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' }) {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
