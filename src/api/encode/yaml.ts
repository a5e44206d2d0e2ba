import { dump } from 'js-yaml'

/** The YAML style: lines are not folded, and equal parts of an object are repeated instead of aliased. */
const style = { lineWidth: -1, noRefs: true } as const

/** The size limit of YAML; larger or deeper objects stay JSON, which is YAML too: YAML for one of them took up to three seconds. */
const maxLength = 32 * 1024
const maxDepth = 32

/** Returns an object's JSON as YAML; words that YAML 1.1 reads as booleans are quoted. */
export function toYaml(json: string): string {
  const value: unknown = isSmall(json) ? JSON.parse(json) : undefined
  return value === undefined || !isShallow(value, maxDepth) ? `${json}\n` : dump(value, style)
}

/** Returns an object's JSON as YAML, indented as a list item. */
export function toYamlItem(json: string): string {
  const value: unknown = isSmall(json) ? JSON.parse(json) : undefined
  return value === undefined || !isShallow(value, maxDepth) ? `- ${json}\n` : dump([value], style)
}

function isSmall(json: string): boolean {
  return json.length <= maxLength
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1))
}
