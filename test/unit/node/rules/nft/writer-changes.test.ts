import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { NftError } from '../../../../../src/host/index.ts'
import type { Ip } from '../../../../../src/model/ip.ts'
import { lowerToElements } from '../../../../../src/netfilter/nft/lower-elements.ts'
import { RulesError } from '../../../../../src/node/rules/index.ts'
import { makeFrontend } from '../../../../helpers/frontends.ts'
import {
  NftWriterLab,
  objects,
  nftSettings as settings,
  twoServices as two,
} from '../../../../helpers/nft-writer-lab.ts'
import { cidr, ip } from '../../../../helpers/services.ts'

describe('slices', () => {
  test('are rendered while the one before is written, one program at a time, and none begins after a failure', async () => {
    const lab = new NftWriterLab()
    const addresses = Array.from({ length: 250 }, (_, n) => `10.244.0.${n}`)
    const services = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`default/s${n}`, addresses] as const))
    let [running, most, begun] = [0, 0, 0]
    const slowly = (write: (text: string) => Promise<void>) => async (text: string) => {
      begun += 1
      running += 1
      most = Math.max(most, running)
      await setTimeout(5)
      await write(text).finally(() => {
        running -= 1
      })
    }
    lab.kernel.run = slowly(lab.kernel.run.bind(lab.kernel))
    lab.kernel.applyRuleset = slowly(lab.kernel.applyRuleset.bind(lab.kernel))
    lab.kernel.failures.push(new NftError('unavailable', 'no program'))
    await assert.rejects(lab.set(services), { code: 'not-found' })
    assert.deepEqual([begun, running], [1, 0])
    await lab.writer.write({ changes: [] }, objects('again'))
    assert.deepEqual([most, running], [1, 0])
    lab.assertInKernel()
  })
})

describe('a small change', () => {
  test('goes to the kernel as messages, and as text where the kernel does not confirm them', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const texts = lab.kernel.transactions.length
    lab.kernel.confirms = true
    const report = await lab.set({ 'default/a': ['10.244.0.7', '10.244.0.2'] })
    assert.deepEqual(report.elements, { added: 3, removed: 3 })
    assert.equal(lab.kernel.transactions.length, texts)
    const [messages = []] = lab.kernel.committed
    const verbs = messages.map(({ type, creates }) => [type, creates ?? false])
    assert.deepEqual(verbs, [
      [0xa0e, false],
      [0xa0e, false],
      [0xa0c, true],
      [0xa0c, true],
      [0xa0e, false],
      [0xa0c, true],
    ])
    lab.kernel.confirms = false
    lab.kernel.table?.sets.get('endpoints')?.clear()
    await lab.set({ 'default/a': ['10.244.0.8'] })
    lab.assertInKernel()
  })

  test('of more than 64 Services, with rules, or of a set with networks is text', async () => {
    const lab = new NftWriterLab()
    const many = Array.from({ length: 65 }, (_, n) => [`default/s${n}`, [`10.244.1.${n}`]] as const)
    await lab.set(Object.fromEntries(many))
    lab.kernel.confirms = true
    const texts = lab.kernel.transactions.length
    await lab.set(Object.fromEntries(many.map(([key]) => [key, [] as string[]])))
    assert.equal(lab.kernel.transactions.length, texts + 1)
    const vip = { loadBalancerVips: [ip('198.51.100.1')], sourceRanges: [cidr('203.0.113.0/24')] }
    const guarded = lowerToElements([{ ...makeFrontend('default/g', '10.96.9.9', ['10.244.9.9']), ...vip }], settings)
    await lab.writer.write(lab.ruleset.update(new Map([['default/g', guarded]])), objects('guarded'))
    assert.equal(lab.kernel.transactions.length, texts + 2)
  })
})

describe('an element that must not become text', () => {
  test('is refused with its key like one that the kernel does not take, and writes nothing', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    const held = lab.kernel.elements()
    const frontend = makeFrontend('default/a', '10.96.0.1', [])
    const clusterEndpoints = [{ address: '10.244.0.2 }; flush ruleset' as Ip, port: 8080 }]
    const elements = lowerToElements([{ ...frontend, hasEndpoints: true, clusterEndpoints }], settings)
    const change = lab.ruleset.update(new Map([['default/a', elements]]))
    await assert.rejects(lab.writer.write(change, objects('bad')), (error) => {
      assert.ok(error instanceof RulesError && error.code === 'restore-failed')
      const { set, text } = error.line ?? assert.fail('no line')
      assert.ok(elements.elements.some((element) => element.set === set && element.key === text))
      return true
    })
    assert.deepEqual(lab.kernel.elements(), held)
    await lab.set({ 'default/a': ['10.244.0.5'] })
    lab.assertInKernel()
  })

  test('of others in the kernel goes with the whole table', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    lab.kernel.table?.sets.get('refuse')?.set('some form of another kernel', '')
    assert.equal((await lab.writer.verify()).drift.length, 1)
    lab.assertInKernel()
  })

  test('of a command that the session hands to no program is one of a Service too', async () => {
    const lab = new NftWriterLab()
    await lab.set(two)
    for (let attempt = 0; attempt < 3; attempt++) lab.kernel.failures.push(new NftError('invalid', 'no element'))
    await assert.rejects(lab.set({ 'default/a': ['10.244.0.7'] }), { code: 'restore-failed' })
  })
})
