import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import { IngressPlan } from '../../../../src/node/ingress/plan.ts'
import { ingressDialect, ingressOf, ourController } from '../../../helpers/ingress-cluster.ts'

const count = 100

test('a plan of many Ingresses may pause after each Ingress, host and backend, and gives what it gives in one piece', () => {
  const noServices = { service: () => undefined, slicesOf: () => [] }
  const makePlan = () =>
    new IngressPlan(noServices, { controller: ourController, h2cProtocols: ingressDialect.h2cProtocols })
  const sketches = Array.from({ length: count }, (_, index) => {
    const key: ObjectKey = `shop/i${index}`
    return [key, ingressOf({ key, rules: { [`h${index}.example.com`]: { '/': `web${index}:80` } } })] as const
  })
  const classes = new Map([['edge', { name: 'edge', controller: ourController }]])
  const changes = { ingresses: new Map(sketches), classes }
  const stages = makePlan().stages(changes, 0)
  let pauses = 0
  let stage = stages.next()
  for (; stage.done !== true; stage = stages.next()) pauses += 1
  assert.ok(pauses >= 3 * count, `${pauses} pauses`)
  assert.equal(stage.value.table.hosts.size, count)
  assert.deepEqual(stage.value, makePlan().update(changes, 0))
})
