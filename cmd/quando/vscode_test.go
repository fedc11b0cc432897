package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var vsixFile = flag.String("vsix", "", "write the extension for VS Code to this file")

// vsixManifest says to VS Code what the package holds.
const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="NAME" Version="VERSION" Publisher="PUBLISHER"/>
    <DisplayName>TITLE</DisplayName>
    <Description xml:space="preserve">DESCRIPTION</Description>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="ENGINE"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
`

const vsixTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/>
  <Default Extension="js" ContentType="application/javascript"/>
  <Default Extension="md" ContentType="text/markdown"/>
  <Default Extension="txt" ContentType="text/plain"/>
  <Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
`

type vscodePackage struct {
	Name, DisplayName, Description, Version, Publisher, Main string
	Engines                                                  map[string]string
}

// TestVSCode packs the extension for VS Code, which is a zip with a manifest, and sees that the
// manifest says what the extension says of itself, and that all is there that it names.
func TestVSCode(t *testing.T) {
	const folder = "../../editors/vscode"
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var about vscodePackage
	if err := json.Unmarshal(read("package.json"), &about); err != nil {
		t.Fatal(err)
	}
	escape := func(s string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(s))
		return b.String()
	}
	manifest := strings.NewReplacer("NAME", escape(about.Name), "VERSION", escape(about.Version), "PUBLISHER", escape(about.Publisher), "TITLE", escape(about.DisplayName),
		"DESCRIPTION", escape(about.Description), "ENGINE", escape(about.Engines["vscode"])).Replace(vsixManifest)
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		text []byte
	}{
		{"extension.vsixmanifest", []byte(manifest)}, {"[Content_Types].xml", []byte(vsixTypes)}, {"extension/package.json", read("package.json")},
		{"extension/" + filepath.Base(about.Main), read(about.Main)}, {"extension/README.md", read("README.md")}, {"extension/LICENSE.txt", license},
	} {
		part, err := w.Create(f.name)
		if err == nil {
			_, err = part.Write(f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkVSIX(t, b.Bytes(), about)
	if *vsixFile != "" {
		if err := os.MkdirAll(filepath.Dir(*vsixFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*vsixFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The commands of the lenses are carried out by the server: the extension must know them.
	for _, command := range []string{"quando.runTest", "quando.backtest"} {
		if !bytes.Contains(read("extension.js"), []byte(`"`+command+`"`)) {
			t.Errorf("the extension does not know %s", command)
		}
	}
}

func checkVSIX(t *testing.T, packed []byte, about vscodePackage) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("extension.vsixmanifest")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct {
			Identity struct {
				ID        string `xml:"Id,attr"`
				Version   string `xml:"Version,attr"`
				Publisher string `xml:"Publisher,attr"`
			}
		}
		Assets struct {
			Asset []struct {
				Path string `xml:"Path,attr"`
			}
		}
	}
	if err := xml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if i := m.Metadata.Identity; i.ID != about.Name || i.Version != about.Version || i.Publisher != about.Publisher || i.ID == "" {
		t.Errorf("the manifest says %+v, the extension %+v", i, about)
	}
	if len(m.Assets.Asset) == 0 {
		t.Error("the manifest names no files")
	}
	for _, a := range m.Assets.Asset {
		if _, err := r.Open(a.Path); err != nil {
			t.Errorf("the manifest names %s: %v", a.Path, err)
		}
	}
}
