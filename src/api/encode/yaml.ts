import { dump } from 'js-yaml'

/** Lines are as long as their texts, and equal parts of an object are written out each time. */
const style = { lineWidth: -1, noRefs: true } as const

/** An object's JSON as YAML; words that YAML 1.1 takes for a boolean stand in quotes. */
export function toYaml(json: string): string {
  return dump(JSON.parse(json), style)
}

/** The same as an item of a list. */
export function toYamlItem(json: string): string {
  return dump([JSON.parse(json)], style)
}
