import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ModeChooser } from '../../../../src/app/composition/proxy-mode-choice.ts'
import { ExecError, NftError, type NftSession, type Run } from '../../../../src/host/index.ts'

function sessionOf(kind: NftSession['kind'], close: () => void): NftSession {
  const nothing = async () => {}
  return { kind, run: nothing, applyRuleset: nothing, isOwn: () => false, close: async () => close() }
}

function chooserOf(
  wish: 'iptables' | 'nftables' | 'auto',
  how: { kind?: NftSession['kind']; loads?: boolean; isThere?: boolean },
) {
  let [opened, closed] = [0, 0]
  const programs: string[] = []
  const run = (async (file: string) => {
    programs.push(file)
    if (how.loads === false)
      throw new ExecError('failed', 'it failed', {
        command: 'nft',
        exitCode: 1,
        stderr: 'Error: Operation not supported',
      })
    return { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 1 }
  }) as unknown as Run
  const openSession = async () => {
    opened += 1
    if (how.kind === undefined) throw new NftError('unavailable', 'the program is missing')
    return sessionOf(how.kind, () => {
      closed += 1
    })
  }
  const chooser = new ModeChooser({ wish, run, hasTable: () => how.isThere === true, openSession })
  return { chooser, opened: () => opened, closed: () => closed, programs }
}

describe('the session of the proxy', () => {
  test('is closed once when the proxy stops, also where auto took iptables after all', async () => {
    for (const loads of [true, false]) {
      const { chooser, closed } = chooserOf('auto', { kind: 'library', loads })
      for (const family of ['IPv4', 'IPv6'] as const) await chooser.choose(family)
      assert.equal(closed(), 0)
      await chooser.stop()
      assert.equal(closed(), 1)
    }
  })

  test('that was not opened, or could not be, is no trouble at the stop', async () => {
    const { chooser } = chooserOf('iptables', { kind: 'library' })
    await chooser.stop()
    const missing = chooserOf('nftables', {}).chooser
    await assert.rejects(missing.choose('IPv4'))
    await missing.stop()
  })
})

describe('the mode of the proxy', () => {
  test('iptables opens no session', async () => {
    const { chooser, opened } = chooserOf('iptables', { kind: 'library' })
    assert.equal((await chooser.choose('IPv4')).name, 'iptables')
    assert.equal(opened(), 0)
  })

  test('auto is nftables where the library is there and the kernel takes the table, with one session for both families', async () => {
    const { chooser, opened, programs } = chooserOf('auto', { kind: 'library' })
    assert.deepEqual(
      [(await chooser.choose('IPv4')).name, (await chooser.choose('IPv6')).name],
      ['nftables', 'nftables'],
    )
    assert.equal(opened(), 1)
    assert.deepEqual(programs, ['unshare', 'unshare'])
  })

  test('is chosen once a family, also where several ask at the same time', async () => {
    const { chooser, programs } = chooserOf('auto', { kind: 'library' })
    const [first, second] = await Promise.all([chooser.choose('IPv4'), chooser.choose('IPv4')])
    assert.equal(first, second)
    assert.deepEqual(programs, ['unshare'])
  })

  test('auto tries no table where ours stands', async () => {
    const { chooser, programs } = chooserOf('auto', { kind: 'library', isThere: true })
    assert.equal((await chooser.choose('IPv4')).name, 'nftables')
    assert.deepEqual(programs, [])
  })

  for (const [what, how, why] of [
    ['without nft', {}, /the program is missing/],
    ['without the library', { kind: 'interactive' }, /libnftables cannot be reached/],
    ['with a kernel that takes no such table', { kind: 'library', loads: false }, /Operation not supported/],
  ] as const)
    test(`auto is iptables ${what}, and says why`, async () => {
      const choice = await chooserOf('auto', how).chooser.choose('IPv4')
      assert.equal(choice.name, 'iptables')
      assert.match(choice.why, why)
    })

  test('nftables takes any session, says which, and is an error with a remedy where there is none', async () => {
    const kept = await chooserOf('nftables', { kind: 'interactive' }).chooser.choose('IPv4')
    assert.match(kept.why, /a kept nft/)
    await assert.rejects(chooserOf('nftables', {}).chooser.choose('IPv4'), {
      code: 'not-found',
      remedy: /install the package nftables/,
    })
  })
})
