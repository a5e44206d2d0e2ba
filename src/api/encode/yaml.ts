import { dump } from 'js-yaml'

/** Lines are as long as their texts, and equal parts of an object are written out each time. */
const style = { lineWidth: -1, noRefs: true } as const

/** Larger or deeper objects stay JSON, which is YAML too: writing the lines of one took up to three seconds. */
const maxLength = 32 * 1024
const maxDepth = 32

/** An object's JSON as YAML; words that YAML 1.1 takes for a boolean stand in quotes. */
export function toYaml(json: string): string {
  const value: unknown = isSmall(json) ? JSON.parse(json) : undefined
  return value === undefined || !isShallow(value, maxDepth) ? `${json}\n` : dump(value, style)
}

/** The same as an item of a list. */
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
