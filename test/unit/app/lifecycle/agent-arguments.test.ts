import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentArguments } from '../../../../src/app/lifecycle/agent-arguments.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'

const load = (command: 'run' | 'agent', flags: Record<string, unknown>) => loadOptions(optionGroups, { command, flags })

test('the supervised agent has every option of an agent as the node has it', () => {
  const node = load('run', {
    dataDir: '/data',
    nodeName: 'n1',
    clusterCidr: '10.1.0.0/16,fd00::/56',
    components: 'api,proxy',
  })
  const [command, ...flags] = agentArguments(node)
  assert.equal(command, 'agent')
  const given = Object.fromEntries(flags.map((flag) => /^--([^=]+)=(.*)$/.exec(flag)?.slice(1) ?? []))
  const camel = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const agent = load('agent', Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value])))
  assert.deepEqual(agent.values.node, { ...node.values.node, kubeconfig: '/data/agent.kubeconfig' })
  assert.deepEqual(agent.values.observe, node.values.observe)
  assert.deepEqual(agent.values.app, node.values.app)
})

test('options that only the server takes are not given to the agent', () => {
  const flags = agentArguments(load('run', { securePort: '7443', dialect: 'kubernetes' }))
  assert.ok(
    flags.every((flag) => !/secure-port|dialect|config=\/etc/.test(flag)),
    flags.join(' '),
  )
})
