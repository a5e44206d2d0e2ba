import type { FieldProblems } from '../request/request.ts'
import { type FoundField, findDuplicateFields } from './duplicate-fields.ts'
import { shorten } from './shorten.ts'

/** The length limit for sorting problems by position: in a longer text the search takes too long. */
const maxOrderedLength = 64 * 1024

export function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`
}

export function jsonProblems(text: string): FieldProblems {
  return {
    findDuplicates: () => findDuplicateFields(text).map(describe),
    ...(text.length > maxOrderedLength ? {} : { findInOrder: (unknown) => inOrder(text, unknown) }),
  }
}

/** Returns the problems of a JSON text that came as YAML. */
export function jsonAsYamlProblems(text: string): FieldProblems {
  return {
    isYaml: true,
    findDuplicates: () => {
      let [line, from] = [1, 0]
      return findDuplicateFields(text).map(({ key, at }) => {
        for (let next = text.indexOf('\n', from); next !== -1 && next < at; next = text.indexOf('\n', from)) {
          line++
          from = next + 1
        }
        return repeatedKey(line, key)
      })
    },
  }
}

export function repeatedKey(line: number, key: string): string {
  return `line ${line}: key ${JSON.stringify(shorten(key))} already set in map`
}

/** Returns the problems in the order of the text. Duplicates inside an unknown field are ignored. */
function inOrder(text: string, unknown: readonly string[]): readonly string[] {
  const found = findDuplicateFields(text, unknown)
  const seen = new Set(found.filter(({ isDuplicate }) => !isDuplicate).map(({ path }) => path))
  const isBelow = (path: string) =>
    unknown.some((each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`))
  return [
    ...found.filter(({ isDuplicate, path }) => !isDuplicate || !isBelow(path)).map(describe),
    ...unknown.filter((path) => !seen.has(path)).map(unknownField),
  ]
}

function describe({ isDuplicate, path }: FoundField): string {
  return isDuplicate ? `duplicate field ${JSON.stringify(path)}` : unknownField(path)
}
