import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import type { EndpointSlice } from '../../../../../src/model/endpoint-slice.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { AnswerTableWriter } from '../../../../../src/node/dns/zone/answer-table-writer.ts'
import { TestZone } from '../../../../helpers/dns-zone.ts'
import { threadCpuMs } from '../../../../helpers/growth.ts'
import { makeEndpoint, makeService, makeSlice } from '../../../../helpers/services.ts'

const perSlice = 100
const slices = 60
const key = 'default/large'
const name = 'large.default.svc.cluster.local'
const service = makeService(key, '10.96.0.1', { headless: true, clusterIps: [] })

/** With `down` the endpoint of that number is not ready. */
function largeSlice(index: number, down = -1): EndpointSlice {
  const endpoints = Array.from({ length: perSlice }, (_, number) =>
    makeEndpoint(`10.${index}.0.${number}`, { ready: number !== down, target: `Pod default/p${index}-${number}` }),
  )
  return makeSlice(key, [['http', 'TCP', 80]], endpoints, `${index}`)
}

const all = Array.from({ length: slices }, (_, index) => largeSlice(index))

/** The processor time of each step. */
function stepsOf(zone: TestZone, change: readonly EndpointSlice[]): readonly number[] {
  const steps = zone.zone.setServiceInSteps(key, { service, slices: change })
  const times: number[] = []
  for (let isDone = false; !isDone; ) {
    times.push(
      threadCpuMs(() => {
        isDone = steps.next().done === true
      }),
    )
  }
  return times
}

function sum(times: readonly number[]): number {
  return times.reduce((total, time) => total + time, 0)
}

describe('a headless Service of thousands of endpoints', () => {
  test('one endpoint that goes changes its own names and those of the Service', () => {
    const zone = new TestZone().add({ service, slices: all }).synced()
    const put = mock.method(AnswerTableWriter.prototype, 'put')
    const remove = mock.method(AnswerTableWriter.prototype, 'remove')
    zone.add({ service, slices: all.with(3, largeSlice(3, 7)) })
    const written = put.mock.callCount()
    const removed = remove.mock.callCount()
    mock.restoreAll()
    // The Service, its port and protocol; the endpoint by its address, its Pod's name and backwards.
    assert.deepEqual({ written, removed }, { written: 3, removed: 3 })
    assert.match(zone.line(`10-3-0-7.${name}`, recordType.A), /^NXDOMAIN/)
    assert.match(zone.line(`10-3-0-8.${name}`, recordType.A), /A 10\.3\.0\.8$/)
  })

  test('a change takes a fraction of the whole, in steps', () => {
    const zone = new TestZone().synced()
    const whole = stepsOf(zone, all)
    const changes = Array.from({ length: 6 }, (_, number) => stepsOf(zone, all.with(3, largeSlice(3, number))))
    const cheapest = Math.min(...changes.map(sum))
    assert.ok(cheapest < sum(whole) / 4, `${cheapest} ms beside ${sum(whole)} ms`)
    const shares = [whole, ...changes].map((times) => Math.max(...times) / sum(times))
    assert.ok(Math.min(...shares) < 0.3, `the longest steps were ${shares} of all`)
  })

  test('answers what fits in a message, each record once, and says that there is more', () => {
    const zone = new TestZone().add({ service, slices: all }).synced()
    const addresses = zone.ask(name, recordType.A, {})
    assert.equal(addresses.answer.length, Math.floor((65_535 - 12 - 1 - name.length - 1 - 4) / 16))
    const targets = zone.ask(`_http._tcp.${name}`, recordType.SRV, {})
    assert.ok(targets.answer.length > 500)
    assert.equal(new Set(targets.answer.map(({ data }) => data.toString('latin1'))).size, targets.answer.length)
    assert.equal(targets.additional.length, 0)
    for (const { flags } of [addresses, targets]) assert.notEqual(flags & 0x0200, 0)
  })
})
