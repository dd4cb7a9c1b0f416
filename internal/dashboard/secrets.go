package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var secretRoutes = []route{
	{"/secrets", forAdmins, map[string]handler{"GET": (*Server).secrets, "POST": (*Server).putSecret}},
	{"/secrets/{name}/delete", forAdmins, map[string]handler{"POST": (*Server).deleteSecret}},
}

// secrets lists the account's secrets without their values. The parameter name
// fills the form with the secret of that name.
func (s *Server) secrets(c *call) error {
	d, err := s.readSecrets(c)
	if err != nil {
		return err
	}
	d.Form = view.Refusal{Form: "secret", Values: url.Values{}}
	i := slices.IndexFunc(d.Secrets, func(h view.HeaderSecret) bool { return h.Name == c.param("name") })
	if i >= 0 {
		d.Form.Values.Set("name", d.Secrets[i].Name)
		d.Form.Values.Set("hosts", strings.Join(d.Secrets[i].Hosts, "\n"))
		if d.Secrets[i].HTTP {
			d.Form.Values.Set("http", "true")
		}
	}
	return c.render(http.StatusOK, view.SecretsPage(d))
}

func (s *Server) readSecrets(c *call) (*view.Secrets, error) {
	found, err := s.Secrets.List(c.r.Context(), c.owner())
	if err != nil {
		return nil, err
	}
	d := &view.Secrets{CanStore: s.Secrets.Keys != nil, Notice: c.notice()}
	for _, h := range found {
		d.Secrets = append(d.Secrets, view.HeaderSecret{Name: h.Name, Hosts: h.Hosts, HTTP: h.HTTP, Use: view.SecretUse(h.Kind),
			UpdatedAt: h.UpdatedAt})
	}
	return d, nil
}

// refuseSecret shows the secrets again with what is wrong.
func (s *Server) refuseSecret(c *call, refused error) error {
	if !ofRecordForm(refused) {
		return refused
	}
	d, err := s.readSecrets(c)
	if err != nil {
		return err
	}
	d.Form = view.Refusal{Form: "secret", Values: c.r.PostForm, Err: refused}
	return c.render(c.statusOf(refused), view.SecretsPage(d))
}

func (s *Server) putSecret(c *call) error {
	name := strings.TrimSpace(c.r.PostForm.Get("name"))
	_, created, err := s.Secrets.Put(c.r.Context(), c.owner(), name, secretBody(c.r.PostForm), service.Match{}.PutIf(), c.actor())
	switch {
	case err != nil:
		return s.refuseSecret(c, err)
	case created:
		return c.redirect("/secrets?done=secretcreated")
	}
	return c.redirect("/secrets?done=secretchanged")
}

// secretBody returns the request that a form describes.
func secretBody(form url.Values) rawjson.Value {
	var hosts []rawjson.Value
	for _, host := range words(form.Get("hosts")) {
		hosts = append(hosts, rawjson.Quote(host))
	}
	members := []rawjson.Member{{Name: "hosts", Value: rawjson.Array(hosts)}}
	if form.Get("http") == "true" {
		members = append(members, rawjson.Member{Name: "http", Value: rawjson.Value(`true`)})
	}
	kind := view.SecretKindNamed(form.Get("kind"))
	for i, name := range kind.Fields {
		// The first one is sent also if it is empty, so that the error is shown at it.
		if text := form.Get(name); text != "" || i == 0 {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(text)})
		}
	}
	if kind.Name != "oauth2" {
		return rawjson.Object(members)
	}
	var credentials []rawjson.Member
	for _, name := range view.CredentialFields {
		if text := strings.TrimSpace(form.Get(name)); text != "" {
			credentials = append(credentials, rawjson.Member{Name: name, Value: rawjson.Quote(text)})
		}
	}
	return rawjson.Object(append(members, rawjson.Member{Name: "oauth2", Value: rawjson.Object(credentials)}))
}

func (s *Server) deleteSecret(c *call) error {
	if err := s.Secrets.Delete(c.r.Context(), c.owner(), c.r.PathValue("name"), c.actor()); err != nil {
		return s.refuseSecret(c, err)
	}
	return c.redirect("/secrets?done=secretdeleted")
}

// words returns the words of a text that separates them with commas or white space.
func words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}
