import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { ProgramResult, Run } from '../../../../src/host/index.ts'
import { probeForwarding } from '../../../../src/node/rules/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { cidr } from '../../../helpers/services.ts'

const networks = {
  podCidrs: [cidr('10.244.0.0/16')],
  dnsAddresses: [ipOf('10.96.0.10')],
  podLink: 'cni-platnet',
}

const ours =
  '-A FORWARD -m conntrack --ctstate NEW -j PLAT-FORWARD-PODS\n-A PLAT-FORWARD-PODS -s 10.244.0.0/16 -j ACCEPT\n'

/** A node with these rules of iptables and this table inet; what it does not have fails, as there. */
function nodeWith({ rules = '', table = '' }): Run {
  const answers: Readonly<Record<string, string>> = {
    'iptables-nft --wait 5 -t filter -S': rules,
    'nft list chains inet': table,
    'nft list table inet firewalld': table,
    'ip -o route get 198.51.100.9': '198.51.100.9 via 192.0.2.254 dev eth0 src 192.0.2.1 uid 0',
  }
  return async (file, args): Promise<ProgramResult> => {
    const stdout = answers[[file, ...args].join(' ')]
    if (stdout === undefined) throw new Error(`no ${file}`)
    return { stdout, stderr: '', exitCode: 0, endedBy: 'exit', durationMs: 1 }
  }
}

function saved(name: string): string {
  return readFileSync(new URL(`../../../fixtures/beside/${name}`, import.meta.url), 'utf8')
}

/** `LEVEL WHAT -> REMEDY`, one a finding. */
async function check(node: { rules?: string; table?: string }, willAccept = true): Promise<readonly string[]> {
  const findings = await probeForwarding({ networks, willAccept }, nodeWith(node))
  return findings.map(({ level, what, remedy }) => `${level} ${what}${remedy === undefined ? '' : ` -> ${remedy}`}`)
}

const forward = 'iptables-nft, table filter, chain FORWARD'
const input = 'iptables-nft, table filter, chain INPUT'
const dropped = `${forward}: new connections of pods to pods of other nodes, new connections of pods to outside, new connections of other nodes to pods here are dropped without an answer by its policy DROP.`

test('a node without other programs has one good finding', async () => {
  assert.deepEqual(await check({ rules: '-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n' }), [
    'ok no rules of other programs refuse what pods send',
  ])
})

test('a machine without an IPv4 route to outside gets a warning', async () => {
  const run = nodeWith({ rules: '-P INPUT ACCEPT\n' })
  const without: Run = async (file, args, options) => {
    if (file === 'ip') throw new Error('Network is unreachable')
    return run(file, args, options)
  }
  const findings = await probeForwarding({ networks, willAccept: true }, without)
  assert.deepEqual(
    findings.map(({ level, what }) => [level, what.split(':')[0]]),
    [['warn', 'this machine has no IPv4 route to outside']],
  )
})

test('Docker: the policy of FORWARD is named with the rules for DOCKER-USER, and no more where ours accept', async () => {
  const is = `ok Docker keeps rules on this node (${forward}): it sets the policy of FORWARD to DROP, and accepts the traffic of its own bridges alone`
  assert.deepEqual(await check({ rules: saved('docker.rules') }, false), [
    is,
    `warn ${dropped} It is a rule of Docker. -> iptables -I DOCKER-USER -s 10.244.0.0/16 -j ACCEPT && iptables -I DOCKER-USER -d 10.244.0.0/16 -j ACCEPT`,
  ])
  assert.deepEqual(await check({ rules: saved('docker.rules') + ours }, false), [
    is,
    `ok ${forward}: the policy is DROP, and PLAT-FORWARD-PODS accepts pods' traffic`,
  ])
})

test('ufw: FORWARD passes through our rules, and what pods ask of the node itself is dropped', async () => {
  const [is, passes, dns, ...others] = await check({ rules: saved('ufw.rules') })
  assert.match(is ?? '', /^ok ufw keeps rules on this node/)
  assert.equal(passes, `ok ${forward}: the policy is DROP, and an agent accepts pods' traffic there`)
  assert.equal(
    dns,
    `warn ${input}: DNS queries of pods to 10.96.0.10 are dropped without an answer by its policy DROP. It is a rule of ufw. -> ufw allow from 10.244.0.0/16`,
  )
  assert.deepEqual(others, [])
  const allowed = `${saved('ufw.rules')}-A ufw-user-input -s 10.244.0.0/16 -j ACCEPT\n`
  assert.deepEqual(
    (await check({ rules: allowed })).filter((line) => line.startsWith('warn')),
    [],
  )
})

test('ufw without our rules in FORWARD: routes are to be allowed', async () => {
  const findings = await check({ rules: saved('ufw.rules') }, false)
  assert.ok(
    findings.includes(
      `warn ${dropped} It is a rule of ufw. -> ufw route allow from 10.244.0.0/16 && ufw route allow to 10.244.0.0/16`,
    ),
    findings.join('\n'),
  )
})

test('firewalld: its own table refuses what ours accept, until pods are in a zone that is trusted', async () => {
  const [is, refused, dns, ...others] = await check({ rules: '-P FORWARD ACCEPT\n', table: saved('firewalld.nft') })
  assert.match(is ?? '', /^ok firewalld keeps rules on this node \(table inet firewalld, chain filter_INPUT\)/)
  const remedy =
    'It is a rule of firewalld. -> firewall-cmd --permanent --zone=trusted --add-source=10.244.0.0/16 && firewall-cmd --reload'
  assert.match(
    refused ?? '',
    /^warn table inet firewalld, chain filter_FORWARD: .* of pods to outside.* are refused by/,
  )
  assert.ok(refused?.endsWith(`its rule "reject with icmpx admin-prohibited" in chain filter_FWD_public. ${remedy}`))
  assert.match(dns ?? '', /chain filter_INPUT: DNS queries of pods to 10\.96\.0\.10 are refused by its rule/)
  assert.deepEqual(others, [])
  const trusted = saved('firewalld.nft').replaceAll(
    /\t\tgoto filter_(IN|FWD)_public\n/g,
    '\t\tip saddr 10.244.0.0/16 goto filter_$1_trusted\n\t\tgoto filter_$1_public\n',
  )
  const zone = ['IN', 'FWD'].map((hook) => `\tchain filter_${hook}_trusted {\n\t\taccept\n\t}\n`).join('')
  const table = `${trusted.slice(0, trusted.lastIndexOf('}'))}${zone}}\n`
  assert.deepEqual(
    (await check({ table })).map((line) => line.slice(0, 12)),
    ['ok firewalld'],
  )
})

test('libvirt and Podman are named, and refuse nothing of pods', async () => {
  for (const [file, name] of [
    ['libvirt.rules', 'libvirt'],
    ['podman.rules', 'Podman'],
  ] as const) {
    const findings = await check({ rules: saved(file) }, false)
    assert.equal(findings.length, 1, findings.join('\n'))
    assert.ok(findings[0]?.startsWith(`ok ${name} keeps rules on this node`))
  }
})
