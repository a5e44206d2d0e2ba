/** What a template may name. */
export interface TemplateData {
  /** The question's name in lower case, with its final dot. */
  readonly name: string
  readonly zone: string
  readonly class: string
  readonly type: string
  /** The whole match and its groups, by number and by name. */
  readonly match: readonly string[]
  readonly groups: Readonly<Record<string, string>>
  readonly remote: string
}

export type CompiledTemplate = (data: TemplateData) => string

const fields: Readonly<Record<string, CompiledTemplate>> = {
  '.Name': (data) => data.name,
  '.Zone': (data) => data.zone,
  '.Class': (data) => data.class,
  '.Type': (data) => data.type,
  '.Remote': (data) => data.remote,
}

/**
 * A text with `{{ .Name }}`, `.Zone`, `.Class`, `.Type`, `.Remote`, `.Group.NAME`, `index .Group "NAME"` and `index .Match N` in it: the part
 * of Go's templates that records are made with. `{{-` and `-}}` take the blanks beside them. Undefined where it says anything else.
 */
export function compileTemplate(text: string): CompiledTemplate | undefined {
  const parts: CompiledTemplate[] = []
  let rest = text
  for (let open = rest.indexOf('{{'); open !== -1; open = rest.indexOf('{{')) {
    const action = /^\{\{(-\s)?\s*(.*?)\s*(\s-)?\}\}/s.exec(rest.slice(open))
    const compiled = action === null ? undefined : compileAction(action[2] ?? '')
    if (action === null || compiled === undefined) return undefined
    const before = rest.slice(0, open)
    const literal = action[1] === undefined ? before : before.trimEnd()
    parts.push(() => literal, compiled)
    rest = rest.slice(open + action[0].length)
    if (action[3] !== undefined) rest = rest.trimStart()
  }
  const tail = rest
  return (data) => parts.map((part) => part(data)).join('') + tail
}

function compileAction(action: string): CompiledTemplate | undefined {
  if (Object.hasOwn(fields, action)) return fields[action]
  const group = /^\.Group\.(\w+)$|^index \.Group "(\w+)"$/.exec(action)
  const groupName = group?.[1] ?? group?.[2]
  if (groupName !== undefined) return (data) => data.groups[groupName] ?? ''
  const index = /^index \.Match (\d{1,3})$/.exec(action)?.[1]
  return index === undefined ? undefined : (data) => data.match[Number(index)] ?? ''
}
