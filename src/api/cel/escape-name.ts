const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const sequences: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** A property's name as rules write it, in each way; none for one that no rule can name. A word of the language stands behind a dot as it is, too. */
export function escapeName(name: string): readonly string[] {
  if (reserved.has(name)) return [`__${name}__`, name]
  if (!/^[A-Za-z_][\w./-]*$/.test(name)) return []
  return [name.replaceAll(/__|[.\-/]/g, (sequence) => sequences[sequence] ?? sequence)]
}
