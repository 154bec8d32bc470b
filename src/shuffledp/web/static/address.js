// The page's address is its state: #tab?field=value, fields that hold what they start with left out.

const DIGITS = "all-digits"; // no field has a hyphen

export function read(forms, hash = location.hash) {
  const [name, query = ""] = hash.replace(/^#/, "").split("?");
  const form = forms.find((one) => one.name === name) ?? forms[0];
  const given = new URLSearchParams(query);
  const values = {};
  for (const field of form.fields) values[field.name] = given.get(field.name) ?? null;
  for (const field of form.fields) values[field.name] ??= start(form, field, values);
  return { form, values, all: given.get(DIGITS) === "yes" };
}

// What a field holds at first, which may depend on what others hold.
export function start(form, field, values) {
  for (const [other, cases] of Object.entries(form.starts)) {
    const about = form.fields.find((one) => one.name === other);
    const held = cases[values[other] ?? about.start]?.[field.name];
    if (held !== undefined && field.name !== other) return held;
  }
  return field.start;
}

export function written(form, values, all) {
  const query = new URLSearchParams();
  for (const field of form.fields) {
    if (shown(form, field, values) && values[field.name] !== start(form, field, values)) query.set(field.name, values[field.name]);
  }
  if (all) query.set(DIGITS, "yes");
  return `#${form.name}${query.size ? `?${query}` : ""}`;
}

export function shown(form, field, values) {
  return Object.entries(field.only).every(([name, wanted]) => {
    const other = form.fields.find((one) => one.name === name);
    return !shown(form, other, values) || wanted.includes(values[name]);
  });
}
