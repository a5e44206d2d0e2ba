import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { optionGroups } from '../../../src/app/option-groups.ts'
import { ConfigError, loadOptions, parseConfigFile } from '../../../src/config/index.ts'

const port = fc.option(fc.integer({ min: 1, max: 65535 }), { nil: undefined })

test('The strongest source that says something decides: default < file < variable < flag.', () => {
  fc.assert(
    fc.property(port, port, port, (inFile, inEnv, inFlag) => {
      const { values, resolved } = loadOptions(optionGroups, {
        file: parseConfigFile('p.yaml', inFile === undefined ? '' : `port: ${inFile}`),
        env: { NODEAGENT_PORT: inEnv?.toString() },
        flags: { port: inFlag?.toString() },
      })
      assert.equal(values.node.port, inFlag ?? inEnv ?? inFile ?? 10250)
      const expected = [inFlag && 'flag', inEnv && 'env', inFile && 'file', 'default'].find((source) => source)
      assert.equal(resolved.find(({ key }) => key === 'port')?.source, expected)
    }),
  )
})

const yamlText = fc
  .array(
    fc.constantFrom(
      'port',
      'clusterCidr',
      ':',
      ' ',
      '\n',
      '- ',
      '[',
      ']',
      '{',
      '}',
      '&a',
      '*a',
      '"',
      '1',
      '|',
      '!!set',
      '<<',
    ),
  )
  .map((parts) => parts.join(''))

test('Whatever a file or a flag holds, the outcome is values or a ConfigError with a line for each problem.', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), yamlText), fc.anything({ withBigInt: true, withMap: true }), (text, flag) => {
      try {
        loadOptions(optionGroups, { file: parseConfigFile('p.yaml', text), flags: { nodeIp: flag, clusterCidr: flag } })
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error))
        assert.ok(error.problems.length > 0)
      }
    }),
    { numRuns: 300 },
  )
})
