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
const characters = new Map(Object.entries(sequences).map(([character, sequence]) => [sequence, character]))

/** Checks whether the name is a reserved word of CEL; after a dot it can still be written unescaped. */
export function isReserved(name: string): boolean {
  return reserved.has(name)
}

/** Returns a property's name as rules write it; undefined for a name that no rule can write. */
export function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_./-][\w./-]*$/.test(name)) return undefined
  return name.replaceAll(/__|[.\-/]/g, (sequence) => sequences[sequence] ?? sequence)
}

/** Returns the property with this escaped name; undefined for a name that no escape produces. */
export function unescapeName(escaped: string): string | undefined {
  if (!escaped.includes('__')) return escaped
  let isWrong = false
  const name = escaped.replaceAll(/__([^_]+)__/g, (sequence, word: string) => {
    const character = characters.get(sequence)
    isWrong ||= character === undefined && !(reserved.has(word) && sequence === escaped)
    return character ?? word
  })
  return isWrong ? undefined : name
}
