import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PolicyMatrix } from '../../../src/app/commands/policy.ts'
import { renderMatrix } from '../../../src/cli/policy-text.ts'
import { ipOf } from '../../helpers/addresses.ts'

const namesOf = (namespace: string, count: number) => Array.from({ length: count }, (_, n) => `${namespace}/p${n}`)

/** One group of `own` pods in x that reaches a group of each other namespace. */
function matrixOf(
  own: number,
  others: readonly number[],
  parts: Partial<PolicyMatrix['rows'][number]> = {},
): PolicyMatrix {
  const groups = [own, ...others].map((count, id) => {
    const namespace = id === 0 ? 'x' : `n${id}`
    return { id, namespace, pods: namesOf(namespace, count) }
  })
  const all = { reach: [{ ports: 'all' as const }], groups: groups.map(({ id }) => id), addresses: [] }
  return {
    namespace: 'x',
    groups,
    rows: [{ group: 0, isolatedBy: { ingress: [], egress: [] }, from: [all], to: [], ...parts }],
  }
}

describe('the text of a matrix', () => {
  it('says what it leaves out of a large cluster', () => {
    const lines = renderMatrix(matrixOf(100, [1, 200, 3, 4, 5, 6, 7])).split('\n')
    assert.equal(lines[0], 'Namespace x: 100 pods, 1 group of pods that no policy tells apart.')
    assert.equal(lines[2], 'x/p0, x/p1, x/p2, x/p3, x/p4 and 95 more pods')
    assert.equal(
      lines[4],
      '    everything: x/p0, x/p1, x/p2, x/p3, x/p4 and 95 more pods, ' +
        'n1/p0, 200 pods of n2, 3 pods of n3, 4 pods of n4, 5 pods of n5 and 2 more namespaces',
    )
  })

  it('shows forty groups and says how many more there are', () => {
    const one = matrixOf(1, [])
    const rows = Array.from({ length: 50 }, () => one.rows[0] ?? assert.fail())
    const text = renderMatrix({ ...one, rows })
    assert.match(text, /\nand 10 more groups, which -o json shows\n$/)
    assert.equal(text.match(/^x\/p0$/gm)?.length, 40)
  })

  it('writes networks where ranges are networks, protocols, families and policies', () => {
    const span = (first: string, last: string, family: 'IPv4' | 'IPv6' = 'IPv4') => ({
      family,
      first: ipOf(first),
      last: ipOf(last),
    })
    const text = renderMatrix(
      matrixOf(1, [], {
        isolatedBy: { ingress: namesOf('x', 7), egress: [] },
        from: [
          {
            reach: [
              { family: 'IPv4', ports: [{ protocol: 'UDP', first: 1, last: 65_535 }] },
              { family: 'IPv6', ports: 'none' },
            ],
            groups: [],
            addresses: [
              span('10.0.0.0', '10.0.0.127'),
              span('10.0.0.1', '10.0.0.2'),
              span('fd00::', 'fd00::ffff', 'IPv6'),
            ],
          },
        ],
      }),
    )
    assert.match(text, /from \(isolated by x\/p0, x\/p1, x\/p2, x\/p3, x\/p4 and 2 more\)/)
    assert.match(
      text,
      /IPv4 UDP all; IPv6 nothing: other addresses in 10\.0\.0\.0\/25, 10\.0\.0\.1-10\.0\.0\.2, fd00::\/112/,
    )
  })
})
