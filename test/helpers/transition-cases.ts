import type { Json, JsonObject } from '../../src/model/api-object.ts'
import { integer, listOf, object, shortText } from './rule-cases.ts'

/** A value before and after an update. */
export interface TransitionCase {
  readonly title: string
  readonly schema: JsonObject
  readonly steps: readonly (readonly [old: Json, next: Json])[]
}

export const transitionCases: readonly TransitionCase[] = [
  {
    title: 'a value that may not change',
    schema: object({
      a: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'immutable' }] },
      b: integer,
    }),
    steps: [
      [{ a: 1 }, { a: 1, b: 2 }],
      [{ a: 1 }, { a: 2 }],
      [{ a: 1 }, { b: 1 }],
      [{ b: 1 }, { a: 1 }],
    ],
  },
  {
    title: 'items of a list by keys',
    schema: object({
      l: listOf(
        {
          type: 'object',
          required: ['k'],
          properties: {
            k: shortText,
            v: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
          },
        },
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
      ),
    }),
    steps: [
      [
        {
          l: [
            { k: 'a', v: 1 },
            { k: 'b', v: 5 },
          ],
        },
        {
          l: [
            { k: 'b', v: 5 },
            { k: 'a', v: 2 },
          ],
        },
      ],
      [
        {
          l: [
            { k: 'a', v: 1 },
            { k: 'b', v: 5 },
          ],
        },
        {
          l: [
            { k: 'b', v: 4 },
            { k: 'a', v: 1 },
          ],
        },
      ],
      [{ l: [{ k: 'a', v: 1 }] }, { l: [{ k: 'c', v: 0 }] }],
    ],
  },
  {
    title: 'an optional old value',
    schema: object(
      { a: integer },
      { rule: '!oldSelf.hasValue() || oldSelf.value().a < self.a', optionalOldSelf: true, message: 'must grow' },
      { rule: 'oldSelf.hasValue() || self.a < 5', optionalOldSelf: true, message: 'starts below 5' },
    ),
    steps: [
      [{ a: 1 }, { a: 2 }],
      [{ a: 1 }, { a: 1 }],
      [{ a: 1 }, { a: 9 }],
      [{ a: 9 }, { a: 10 }],
    ],
  },
]
