import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lackOfKernel, runOnKernel } from './machine.ts'

/** Suites of Debian by the release of their kernel. */
const kernels = { bullseye: '5.10', bookworm: '6.1', 'bookworm-backports': '6.12', sid: '7' }
const ofNftables = ['host/nftables', 'netfilter/nft-table', 'node/rules/nft-writer', 'node/rules/element-socket']
/** The rules that keep DNS from being tracked are gone with the program that made them (`flags owner`): since 5.12. */
const filesOf = (suite: string) =>
  [...ofNftables, ...(suite === 'bullseye' ? [] : ['node/dns/notrack-rules'])].map(
    (file) => `test/kernel/${file}.test.ts`,
  )
const variables = 'NODE_OPTIONS=--disable-warning=ExperimentalWarning NODE_COMPILE_CACHE=/platnet/.cache/compiled'
/** In the copy of Debian that the machine throws away. */
const takeOlderNft = 'cp -a /opt/nft/usr /'
const limitMs = 1_700_000

for (const [suite, release] of Object.entries(kernels))
  describe(`on Linux ${release} (${suite})`, { skip: lackOfKernel(suite) }, () => {
    test('nft takes our tables and elements of both families', { timeout: limitMs }, async () => {
      const { exitCode, output } = await runOnKernel(
        suite,
        'sh test/long/kernels/features.sh',
        AbortSignal.timeout(limitMs),
      )
      assert.equal(exitCode, 0, output)
      assert.match(output, new RegExp(`kernel ${release.replace('.', '\\.')}\\.`, 'm'))
    })

    test('the mode nftables does in the kernel what it should', { timeout: limitMs }, async (context) => {
      const command = `${variables} node --test --test-concurrency=1 --test-reporter=spec ${filesOf(suite).join(' ')}`
      const { exitCode, output } = await runOnKernel(suite, command, AbortSignal.timeout(limitMs))
      context.diagnostic(/kernel [567]\..*/.exec(output)?.[0] ?? 'the kernel did not start')
      assert.equal(exitCode, 0, output)
      assert.match(output, /pass [1-9]/)
      assert.match(output, /skipped 0/)
    })
  })

test('an nft that is too old for the table is named with the kernel', {
  skip: lackOfKernel('bullseye'),
  timeout: limitMs,
}, async () => {
  const command = `${takeOlderNft} && ${variables} scripts/platnet check --proxy-mode=nftables`
  const { exitCode, output } = await runOnKernel('bullseye', command, AbortSignal.timeout(limitMs))
  assert.equal(exitCode, 1, output)
  assert.match(output, /the table cannot be loaded by nftables v0\.9\.8 \(E\.D\.S\.\) on Linux 5\.10\./)
})
