import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backend } from '../../../../src/model/routing-table.ts'
import { renderFiles } from '../../../../src/node/ingress/haproxy/config.ts'
import { diffTable } from '../../../../src/node/ingress/haproxy/diff.ts'
import { holdTable } from '../../../../src/node/ingress/haproxy/hold-table.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { readGolden } from '../../../helpers/golden.ts'
import { haproxySettings } from '../../../helpers/haproxy-settings.ts'
import { matchTable } from '../../../helpers/match-cases.ts'

const folder = new URL('./', import.meta.url)

function tableWith(change: (backend: Backend, index: number) => Backend) {
  const table = matchTable()
  const backends = Array.from(table.backends.values(), change).map((backend) => [backend.id, backend] as const)
  return { ...table, backends: new Map(backends) }
}

const table = tableWith((backend, index) => ({
  ...backend,
  ...(index === 1 && { balance: 'least-connections', protocol: 'h2c' }),
  ...(index === 2 && { stickiness: { cookie: 'shop' }, endpoints: [{ ip: ipOf('fd00::1'), port: 80 }] }),
  ...(index === 3 && { endpoints: [] }),
}))

test('The files of a table are those that a person has read', () => {
  const files = renderFiles(haproxySettings, { holding: holdTable(table).holding, generation: 7 }, [])
  const text = Array.from(files, ([name, content]) => `==> ${name}\n${withoutSpares(content)}`).join('\n')
  assert.equal(text, readGolden(folder, 'haproxy-files.txt', text))
})

test('The commands for a change are those that a person has read', () => {
  const held = holdTable(table).holding
  const next = tableWith((backend, index) => ({
    ...backend,
    ...(index === 0 && { endpoints: [{ ip: ipOf('10.0.0.9'), port: 81 }, ...backend.endpoints] }),
    ...(index === 4 && { endpoints: [] }),
    ...(index === 5 && { id: 'default_new_80' }),
  }))
  const hosts = new Map(next.hosts)
  hosts.delete('bare.example.com')
  const routes = hosts.get('cart.example.com')
  assert.ok(routes?.fallback)
  hosts.set('new.example.com', { ...routes, fallback: { ...routes.fallback, backend: 'default_new_80' } })
  const difference = diffTable(held, { ...next, hosts }, { maxCommandBytes: 16_000 })
  assert.ok(difference.kind === 'commands')
  const text = difference.commands.map(({ text: command }) => `${command}\n`).join('')
  assert.equal(text, readGolden(folder, 'haproxy-commands.txt', text))
})

/** Spare proxies are many and alike. */
function withoutSpares(text: string): string {
  return text.replaceAll(/(?<=\n)backend \S+\n {2}balance \w+\n(?=backend|$)/g, '')
}
