import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'

const sources = resolve(import.meta.dirname, '../conformance')
const folder = resolve(import.meta.dirname, '../../.cache')
const downloadTimeoutMs = 120_000
const buildTimeoutMs = 1_200_000

type GoProgram = { readonly file: string } | { readonly lack: string }

/** Builds a program of `test/conformance/client-go`: the file it is in, or why it cannot be had on this machine. */
export function buildGoProgram(name: string): GoProgram {
  return build('client-go', `./${name}`, `client-go-${name}`)
}

/** Builds the collector of `test/conformance/otel-collector` from OpenTelemetry's modules. */
export function buildOtelCollector(): GoProgram {
  return build('otel-collector', '.', 'otel-collector')
}

/** A build that fails for another reason than a missing compiler or module fails the test. */
function build(module: string, program: string, output: string): GoProgram {
  const cwd = resolve(sources, module)
  const go = (timeout: number, ...args: string[]) => execFileSync('go', args, { cwd, timeout, stdio: 'pipe' })
  try {
    go(10_000, 'version')
  } catch {
    return { lack: 'go is not on this machine' }
  }
  try {
    go(downloadTimeoutMs, 'mod', 'download')
  } catch {
    return { lack: `the modules of ${module} cannot be had from here` }
  }
  mkdirSync(folder, { recursive: true })
  const file = resolve(folder, output)
  go(buildTimeoutMs, 'build', '-o', file, program)
  return { file }
}
