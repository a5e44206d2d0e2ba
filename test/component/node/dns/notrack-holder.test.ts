import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NotrackRules } from '../../../../src/node/dns/bind/notrack-rules.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

/** Puts a program in the place of nft that first runs these lines of sh and then waits for the end of its input. */
function replaceNft(context: TestContext, lines: string): NotrackRules {
  const folder = makeTemporaryFolder(context)
  const file = join(folder, 'nft')
  writeFileSync(file, `#!/bin/sh\n${lines}\nwhile read -r line; do [ "$line" = quit ] && exit 0; done\n`)
  chmodSync(file, 0o755)
  const path = process.env['PATH']
  process.env['PATH'] = `${folder}:${path}`
  const rules = new NotrackRules({ addresses: [ipOf('10.96.0.10')], port: 53, log: silentLogger })
  context.after(async () => {
    process.env['PATH'] = path
    await rules.remove()
  })
  return rules
}

test('what the line editor of nft says where it knows no terminal is no refusal', async (context) => {
  const rules = replaceNft(
    context,
    'echo "Cannot read termcap database;" >&2; sleep 0.1; echo "table inet platnet-dns"',
  )
  await rules.install()
  assert.equal(rules.areInstalled, true)
})

test('an error of nft is a refusal, whatever was said before it', async (context) => {
  const lines = 'echo "using dumb terminal settings." >&2; sleep 0.1; echo "Error: Invalid argument" >&2'
  const rules = replaceNft(context, lines)
  await rules.install()
  assert.deepEqual([rules.areInstalled, rules.areWanted], [false, true])
})
