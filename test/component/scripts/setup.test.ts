import assert from 'node:assert/strict'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { ExecError, runProgram } from '../../../src/host/index.ts'

const script = resolve(import.meta.dirname, '../../../scripts/setup.sh')

/** A checkout with a lock file, and an npm that only notes its call and puts a Node of that version in place. */
function makeCheckout(nodeVersion: string): string {
  const checkout = mkdtempSync(join(tmpdir(), 'platnet-setup-'))
  mkdirSync(join(checkout, 'scripts'))
  cpSync(script, join(checkout, 'scripts/setup.sh'))
  writeFileSync(join(checkout, 'package-lock.json'), '{"lockfileVersion":3}')
  const npm = [
    '#!/bin/sh',
    'echo "$*" >> npm-calls',
    'mkdir -p node_modules/.bin',
    `printf '#!/bin/sh\\necho ${nodeVersion}\\n' > node_modules/.bin/node`,
    'chmod +x node_modules/.bin/node',
  ]
  writeFileSync(join(checkout, 'npm'), `${npm.join('\n')}\n`)
  chmodSync(join(checkout, 'npm'), 0o755)
  return checkout
}

describe('set-up', () => {
  let checkout: string

  const setUp = () => {
    const env = { PATH: `${checkout}:${process.env['PATH']}` }
    return runProgram('sh', [join(checkout, 'scripts/setup.sh')], { timeoutMs: 60_000, env })
  }
  const npmCalls = () => readFileSync(join(checkout, 'npm-calls'), 'utf8').trimEnd().split('\n')

  beforeEach(() => {
    checkout = makeCheckout('v26.10.0')
  })
  afterEach(() => rmSync(checkout, { recursive: true }))

  it('installs the libraries once, says so, and is silent when there is nothing to do', async () => {
    assert.match((await setUp()).stderr, /npm ci.*done, Node v26\.10\.0/s)
    const { stdout, stderr } = await setUp()
    assert.equal(stdout + stderr, '')
    assert.deepEqual(npmCalls(), ['ci --no-progress'])
  })

  it('installs again when the lock file has changed', async () => {
    await setUp()
    writeFileSync(join(checkout, 'package-lock.json'), '{"lockfileVersion":4}')
    await setUp()
    assert.equal(npmCalls().length, 2)
  })

  it('installs again when it was broken off', async () => {
    writeFileSync(join(checkout, 'npm'), '#!/bin/sh\nmkdir -p node_modules\nexit 1\n')
    await assert.rejects(setUp(), (error) => error instanceof ExecError && /npm ci failed/.test(error.stderr))
    assert.ok(!existsSync(join(checkout, 'node_modules/.platnet-installed-lock.json')))
  })

  it('says what to do when the Node that came is too old', async () => {
    rmSync(checkout, { recursive: true })
    checkout = makeCheckout('v20.20.2')
    await assert.rejects(
      setUp(),
      (error) => error instanceof ExecError && /Node 26 is needed.*install Node >= 26/.test(error.stderr),
    )
  })
})
