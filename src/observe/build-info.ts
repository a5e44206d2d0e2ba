import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'

/** Names the build that runs. */
export interface BuildInfo {
  readonly version: string
  readonly description: string
  /** Full hash of the commit; undefined where neither the package nor a checkout says it. */
  readonly commit: string | undefined
}

const packageFile = z.object({ version: z.string(), description: z.string() })
const hash = /^[0-9a-f]{40,64}$/
const root = resolve(import.meta.dirname, '../..')

/**
 * Reads the version from package.json and the commit from the file `commit`, which `npm run package` writes, or in a checkout from
 * git's files. Throws where package.json is missing or has another form.
 */
export function readBuildInfo(folder: string = root): BuildInfo {
  const { version, description } = packageFile.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  return { version, description, commit: parseHash(readText(join(folder, 'commit'))) ?? readHead(folder) }
}

/** `0.1.0+6aa2bac99b2c`: the form of semantic versions with build metadata. */
export function versionText({ version, commit }: Pick<BuildInfo, 'version' | 'commit'>): string {
  return commit === undefined ? version : `${version}+${commit.slice(0, 12)}`
}

/** Reads what HEAD names (gitrepository-layout(5)); also in a linked worktree, whose `.git` is a file. */
function readHead(folder: string): string | undefined {
  const link = /^gitdir: (.+)$/m.exec(readText(join(folder, '.git')) ?? '')?.[1]
  const gitDir = resolve(folder, link ?? '.git')
  const head = readText(join(gitDir, 'HEAD'))?.trim()
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head ?? '')?.[1]
  if (ref === undefined) return parseHash(head)
  const shared = resolve(gitDir, readText(join(gitDir, 'commondir'))?.trim() ?? '.')
  return parseHash(readText(join(shared, ref))) ?? findPacked(readText(join(shared, 'packed-refs')), ref)
}

function findPacked(packed: string | undefined, ref: string): string | undefined {
  const line = packed?.split('\n').find((text) => text.endsWith(` ${ref}`))
  return parseHash(line?.split(' ', 1)[0])
}

function parseHash(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? ''
  return hash.test(trimmed) ? trimmed : undefined
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
