import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RoutingTable } from '../../../../../src/model/routing-table.ts'
import { HaproxyError } from '../../../../../src/node/ingress/haproxy/errors.ts'
import { isolate } from '../../../../../src/node/ingress/haproxy/isolate.ts'
import { routingTable } from '../../../../helpers/routing-tables.ts'

const count = 100

/** A hundred Ingresses, one for each host. */
function makeTable(): RoutingTable {
  const sketch = Object.fromEntries(Array.from({ length: count }, (_, n) => [`h${n}.example.com`, { prefix: ['/'] }]))
  const table = routingTable(sketch)
  const hosts = Array.from(table.hosts, ([host, routes], n) => {
    const prefix = new Map(Array.from(routes.prefix, ([path, route]) => [path, { ...route, ingress: `default/i${n}` }]))
    return [host, { ...routes, prefix }] as const
  })
  return { ...table, hosts: new Map(hosts) }
}

/** Refuses tables with a route of these Ingresses. */
function refusing(...ingresses: readonly string[]) {
  const seen = { checks: 0 }
  const check = async ({ hosts }: RoutingTable) => {
    seen.checks += 1
    const present = Array.from(hosts.values()).flatMap(({ prefix }) =>
      Array.from(prefix.values(), ({ ingress }) => ingress),
    )
    if (present.some((each) => ingresses.includes(each))) throw new HaproxyError('refused-config', 'no')
  }
  return { seen, check }
}

describe('What haproxy refuses', () => {
  test('is nothing where it takes the table', async () => {
    const { seen, check } = refusing()
    assert.deepEqual(await isolate(makeTable(), check), [])
    assert.equal(seen.checks, 1)
  })

  test('is found by halves, also where there are two', async () => {
    const { seen, check } = refusing('default/i7', 'default/i93')
    const refusals = await isolate(makeTable(), check)
    assert.deepEqual(refusals.map(({ kind, key }) => `${kind} ${key}`).sort(), [
      'Ingress default/i7',
      'Ingress default/i93',
    ])
    assert.ok(seen.checks <= 2 * (Math.ceil(Math.log2(count)) + 2) + 1, `${seen.checks} checks`)
  })

  test('is an error where no object alone is the cause', async () => {
    const check = () => Promise.reject(new HaproxyError('refused-config', 'always'))
    await assert.rejects(isolate(makeTable(), check), { code: 'refused-config' })
  })

  test('is not looked for where haproxy could not be asked', async () => {
    const check = () => Promise.reject(new HaproxyError('not-started', 'missing'))
    await assert.rejects(isolate(makeTable(), check), { code: 'not-started' })
  })
})
