import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'

const source = resolve(import.meta.dirname, '../conformance/client-go')
const folder = resolve(import.meta.dirname, '../../.cache')
const downloadTimeoutMs = 120_000
const buildTimeoutMs = 480_000

/**
 * Builds a program of `test/conformance/client-go`: the file it is in, or why it cannot be had on this machine. A build that fails for any
 * other reason fails the test.
 */
export function buildGoProgram(name: string): { readonly file: string } | { readonly lack: string } {
  const go = (timeout: number, ...args: string[]) => execFileSync('go', args, { cwd: source, timeout, stdio: 'pipe' })
  try {
    go(10_000, 'version')
  } catch {
    return { lack: 'go is not on this machine' }
  }
  try {
    go(downloadTimeoutMs, 'mod', 'download')
  } catch {
    return { lack: 'the modules of client-go cannot be had from here' }
  }
  mkdirSync(folder, { recursive: true })
  const file = resolve(folder, `client-go-${name}`)
  go(buildTimeoutMs, 'build', '-o', file, `./${name}`)
  return { file }
}
