import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { IpFamily } from '../../../src/model/ip.ts'
import { addLines, createLines, MemberSetParser, removeLines } from '../../../src/netfilter/member-sets.ts'
import { equalChains, parseSave } from '../../../src/netfilter/parse.ts'
import { PolicyPlan, type PolicyStep } from '../../../src/node/policy/plan.ts'
import { skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'
import { anyHistoryOfAddresses, changesBetween, nothing } from '../../helpers/policy-histories.ts'
import { PolicyKernel } from '../../helpers/policy-kernel.ts'
import { renderRestore } from '../../helpers/rulesets.ts'

const skip = skipReason('iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy', 'ipset')
const histories = fc.sample(anyHistoryOfAddresses, { numRuns: 5, seed: 18 })

for (const flavour of ['nft', 'legacy']) {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${flavour}`
    test(
      `${program} and ipset take each step of random plans and hold what was planned`,
      { skip, timeout: 120_000 },
      () =>
        withNetns(async (lab) => {
          for (const history of histories) {
            const netns = await lab.create()
            const settings = { family, dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied: true }
            const [plan, kernel] = [new PolicyPlan(settings), new PolicyKernel(family)]
            for (const [index, cluster] of history.entries()) {
              const step = plan.update(changesBetween(history[index - 1] ?? nothing, cluster))
              kernel.apply(step)
              await write(netns, program, family, step)
              await checkHeld(netns, program, kernel)
            }
          }
        }),
    )
  }
}

async function write(netns: TestNetns, program: string, family: IpFamily, { table, sets }: PolicyStep): Promise<void> {
  const restoreSets = (lines: readonly string[]) =>
    netns.run('ipset', ['restore'], { input: lines.map((line) => `${line}\n`).join(''), timeoutMs: 10_000 })
  await restoreSets([
    ...[...sets.create].flatMap(([name, set]) => createLines(name, set, new Set())),
    ...[...sets.add].flatMap(([name, elements]) => addLines(name, new Set(elements))),
  ])
  if (table !== undefined)
    await netns.run(`${program}-restore`, ['--noflush', '--wait', '5'], {
      input: renderRestore([table], family),
      timeoutMs: 10_000,
    })
  await restoreSets([...sets.remove].flatMap(([name, elements]) => removeLines(name, new Set(elements))))
  for (const name of sets.destroy) await destroy(netns, name)
}

/** The kernel lets a set go some milliseconds after the rule that named it. */
async function destroy(netns: TestNetns, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await netns.exec('ipset', 'destroy', name)
      return
    } catch (error) {
      if (attempt === 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function checkHeld(netns: TestNetns, program: string, { chains, sets }: PolicyKernel): Promise<void> {
  const held = parseSave(await netns.exec(`${program}-save`, '-t', 'mangle')).mangle.chains
  assert.deepEqual([...held.keys()].sort(), [...chains.keys()].sort())
  for (const [name, chain] of chains) assert.ok(equalChains(held.get(name) ?? [], chain), name)
  const parser = new MemberSetParser()
  for (const line of (await netns.exec('ipset', 'save')).split('\n')) parser.readLine(line)
  assert.deepEqual([...parser.sets.keys()].sort(), [...sets.keys()].sort())
  for (const [name, { elements }] of sets)
    assert.deepEqual([...(parser.sets.get(name)?.members ?? [])].sort(), [...elements].sort(), name)
}
