package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log"
	"math/rand"
	"os"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/randfill"
)

type sample struct {
	Kind string          `json:"kind"`
	JSON json.RawMessage `json:"json"`
	// Base64.
	Protobuf string `json:"protobuf"`
}

// addGroups adds the groups that client-go's own scheme does not have.
func addGroups() {
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			log.Fatal(err)
		}
	}
}

// samples writes objects with random content in every field, in JSON and in protobuf, `count` of each kind, one a line.
func samples(count int, kinds []string) {
	addGroups()
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, oddTypes)
	fill := fuzzer.FuzzerFor(funcs, rand.NewSource(1), scheme.Codecs).NumElements(1, 2).NilChance(0.3).MaxDepth(24)
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	out := json.NewEncoder(os.Stdout)
	for _, name := range kinds {
		version, kind, _ := strings.Cut(name, " ")
		gvk := schema.FromAPIVersionAndKind(version, kind)
		for range count {
			object, err := scheme.Scheme.New(gvk)
			if err != nil {
				log.Fatal(err)
			}
			fill.Fill(object)
			object.GetObjectKind().SetGroupVersionKind(gvk)
			text, err := json.Marshal(object)
			if err != nil {
				log.Fatal(err)
			}
			var wire bytes.Buffer
			if err := encoder.Encode(object, &wire); err != nil {
				log.Fatal(err)
			}
			if err := out.Encode(sample{name, text, base64.StdEncoding.EncodeToString(wire.Bytes())}); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// decoded reads lines of samples whose protobuf somebody else has made, and says which of them are not the object that the JSON is.
func decoded() {
	addGroups()
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	in := json.NewDecoder(os.Stdin)
	count := 0
	for in.More() {
		var one sample
		if err := in.Decode(&one); err != nil {
			log.Fatal(err)
		}
		wire, err := base64.StdEncoding.DecodeString(one.Protobuf)
		if err != nil {
			log.Fatal(err)
		}
		object, kind, err := serializer.Decode(wire, nil, nil)
		if err != nil {
			say(line{Event: "problem", Name: one.Kind, Word: err.Error()})
			continue
		}
		object.GetObjectKind().SetGroupVersionKind(*kind)
		text, err := json.Marshal(object)
		if err != nil {
			log.Fatal(err)
		}
		expected, _ := scheme.Scheme.New(*kind)
		if err := json.Unmarshal(one.JSON, expected); err != nil {
			log.Fatal(err)
		}
		wanted, err := json.Marshal(expected)
		if err != nil {
			log.Fatal(err)
		}
		if !bytes.Equal(text, wanted) {
			say(line{Event: "problem", Name: one.Kind, Word: string(text) + " instead of " + string(wanted)})
		}
		count++
	}
	say(line{Event: "done", Count: count})
}

// oddTypes fills what cannot hold just anything.
func oddTypes(_ runtimeserializer.CodecFactory) []any {
	raw := []byte(`{"a":[1,"b",null,{"c":true}]}`)
	return []any{
		// JavaScript holds no larger number exactly.
		func(value *int64, c randfill.Continue) { *value = c.Int63n(1 << 53) },
		// Protobuf does not tell no bytes from none.
		func(value *[]byte, c randfill.Continue) { *value = []byte{1, byte(c.Intn(256))} },
		func(value *runtime.RawExtension, _ randfill.Continue) { value.Raw = raw },
		func(value *metav1.FieldsV1, _ randfill.Continue) { value.Raw = raw },
		func(value *apiextensionsv1.JSON, _ randfill.Continue) { value.Raw = raw },
		// Filled without limit, a schema has schemas in it for ever.
		func(value *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			text, size, number, yes := c.String(6), c.Int63n(100), c.Float64(), c.Bool()
			*value = apiextensionsv1.JSONSchemaProps{
				ID: text, Schema: "a", Ref: &text, Description: text, Type: "object", Format: text, Title: text,
				Default: &apiextensionsv1.JSON{Raw: raw}, Maximum: &number, ExclusiveMaximum: yes, Minimum: &number, MultipleOf: &number,
				MaxLength: &size, MinLength: &size, Pattern: text, MaxItems: &size, UniqueItems: yes, MaxProperties: &size,
				Enum: []apiextensionsv1.JSON{{Raw: []byte("1")}, {Raw: raw}}, Required: []string{text}, Nullable: yes,
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{
					Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}},
				AllOf: []apiextensionsv1.JSONSchemaProps{{Type: text}}, Not: &apiextensionsv1.JSONSchemaProps{Type: text},
				XPreserveUnknownFields: &yes, XIntOrString: yes, XListMapKeys: []string{"a"}, XListType: &text,
				XValidations: apiextensionsv1.ValidationRules{{Rule: text, OptionalOldSelf: &yes}},
			}
			c.Fill(&value.AdditionalProperties)
			c.Fill(&value.Items)
			value.Dependencies = apiextensionsv1.JSONSchemaDependencies{"a": {Property: []string{"b"}}, "c": {Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}
		},
		func(value *apiextensionsv1.JSONSchemaPropsOrArray, c randfill.Continue) {
			if c.Bool() {
				value.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
			} else {
				value.JSONSchemas = []apiextensionsv1.JSONSchemaProps{{Type: "string"}, {Type: "integer"}}
			}
		},
		func(value *apiextensionsv1.JSONSchemaPropsOrBool, c randfill.Continue) {
			value.Allows = c.Bool()
			if c.Bool() {
				value.Allows = true
				value.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
			}
		},
		func(value *apiextensionsv1.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			if c.Bool() {
				value.Property = []string{"a", "b"}
			} else {
				value.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
			}
		},
	}
}
