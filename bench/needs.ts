import { existsSync } from 'node:fs'

const folders = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':')

/** Debian's packages of the programs that benches start; a program that is not listed is in the package of its name. */
const packages: Readonly<Record<string, string>> = {
  nginx: 'nginx-light',
  nft: 'nftables',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
}

/** Something that a bench cannot do without. */
export class NeedError extends Error {}

/** Whether a program is installed; if not, says on standard error how to get it and what is left out. */
export function hasProgram(program: string, leftOut: string): boolean {
  if (isInstalled(program)) return true
  console.error(`no ${program}: apt-get install ${packages[program] ?? program}; left out: ${leftOut}`)
  return false
}

/** @throws NeedError that says how to get what is missing */
export function requirePrograms(...programs: readonly string[]): void {
  const missing = programs.filter((program) => !isInstalled(program))
  if (missing.length === 0) return
  const names = missing.map((program) => packages[program] ?? program)
  throw new NeedError(`this bench needs ${missing.join(', ')}: apt-get install ${names.join(' ')}`)
}

function isInstalled(program: string): boolean {
  return program.startsWith('/')
    ? existsSync(program)
    : folders.some((folder) => folder !== '' && existsSync(`${folder}/${program}`))
}
