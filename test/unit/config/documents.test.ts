import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionGroups } from '../../../src/app/option-groups.ts'
import {
  configYaml,
  configzDocument,
  declareOptions,
  fileSchema,
  loadOptions,
  optionsTable,
  parseConfigFile,
  plainText,
} from '../../../src/config/index.ts'

const secretive = {
  client: declareOptions({
    token: {
      schema: plainText,
      flag: '--token <text>',
      env: 'TOKEN',
      default: 'changeme',
      reload: 'restart',
      secret: true,
      description: 'The token | of the API',
    },
  }),
}

test('/configz has value, source and reload of each option, in the form of the file.', () => {
  const { resolved } = loadOptions(optionGroups, {
    env: { NODEAGENT_PORT: '10251' },
    flags: { clusterCidr: '10.0.0.0/8,fd00::/8', nodePortRange: '31000-31010' },
    file: parseConfigFile('p.yaml', 'logLevel: 3'),
  })
  const { kind, options } = configzDocument(resolved)
  assert.equal(kind, 'PlatnetConfig')
  assert.deepEqual(options['port'], { value: 10251, source: 'env', reload: 'restart' })
  assert.deepEqual(options['clusterCidr'], { value: ['10.0.0.0/8', 'fd00::/8'], source: 'flag', reload: 'restart' })
  assert.deepEqual(options['nodePortRange'], { value: '31000-31010', source: 'flag', reload: 'restart' })
  assert.deepEqual(options['logLevel'], { value: '3', source: 'file', reload: 'live' })
  assert.deepEqual(options['nodeIp'], { value: null, source: 'default', reload: 'restart' })
})

test('A secret is in neither /configz nor the YAML.', () => {
  const { resolved } = loadOptions(secretive, { env: { TOKEN: 'hunter2hunter2' } })
  assert.deepEqual(configzDocument(resolved).options['token'], {
    value: '[redacted]',
    source: 'env',
    reload: 'restart',
  })
  assert.equal(configYaml(resolved), '# token: "[redacted]" # variable TOKEN\n')
})

test('What config print writes is a file that says the same.', () => {
  const flags = { nodeName: 'node-1', publicMetrics: 'true', server: 'https://[fd00::1]:6443', logLevel: 'a=b # no' }
  const first = loadOptions(optionGroups, { flags })
  const again = loadOptions(optionGroups, { file: parseConfigFile('printed.yaml', configYaml(first.resolved)) })
  assert.deepEqual(again.values, first.values)
})

test('The table has one row for each option, and a bar in a text does not break it.', () => {
  assert.equal(
    optionsTable(secretive).split('\n')[2],
    '| `--token <text>` | `token` | `TOKEN` | `changeme` | run, server, agent | restart | The token \\| of the API. |',
  )
})

test('The schema names every option of the file, refuses others, and knows defaults.', () => {
  const schema = fileSchema(optionGroups) as {
    additionalProperties: boolean
    properties: Record<string, { default?: unknown; description?: string }>
  }
  assert.equal(schema.additionalProperties, false)
  assert.equal(schema.properties['config'], undefined)
  assert.equal(schema.properties['securePort']?.default, 6443)
  for (const [key, { description }] of Object.entries(schema.properties)) assert.ok(description, key)
})
