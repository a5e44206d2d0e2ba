import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundConnections, possibleConnections } from '../../../../src/app/composition/possible-connections.ts'
import { agentArguments } from '../../../../src/app/lifecycle/agent-arguments.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'
import { ingressSettings } from '../../../../src/node/ingress/index.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'

test('haproxy gets as many connections as the hard limit of open files has room for', () => {
  const limits = (hard: string) => `Limit  Soft  Hard  Units\nMax open files            1024     ${hard}       files\n`
  assert.equal(possibleConnections(limits('20000')), 9_500)
  assert.equal(possibleConnections(limits('1024')), 100)
  assert.equal(possibleConnections(limits('unlimited')), Number.POSITIVE_INFINITY)
})

/** What an agent logs that `platnet run` starts with these flags, where 4,000 connections are possible. */
function logOfAgent(flags: Record<string, unknown>): readonly string[] {
  const [, ...given] = agentArguments(loadOptions(optionGroups, { command: 'run', flags }))
  const name = '--ingress-max-connections='
  const ingressMaxConnections = given.find((flag) => flag.startsWith(name))?.slice(name.length)
  const { values } = loadOptions(optionGroups, { command: 'agent', flags: { ingressMaxConnections } })
  const { log, lines } = createRecordingLogger()
  assert.equal(boundConnections(ingressSettings(values.ingress).limits, 4_000, log).maxConnections, 4_000)
  return lines.map((line) => line.split(' ', 1)[0] ?? '')
}

test('fewer connections than an operator asked for are worth a warning, fewer than the default are not', () => {
  assert.deepEqual(logOfAgent({ ingressMaxConnections: '12000' }), ['warn'])
  assert.deepEqual(logOfAgent({}), ['info'])
})
