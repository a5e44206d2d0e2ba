import { readFile, stat } from 'node:fs/promises'
import { describeError, PlatnetError } from '../../model/errors.ts'
import type { StaticToken } from './authenticate.ts'

class TokenFileError extends PlatnetError<'token-file-invalid' | 'token-file-unreadable'> {}

/** Parses a token file of Kubernetes: `token,user,uid,"group1,group2"` a line, groups optional. Throws TokenFileError; no error shows a token. */
export async function readTokenFile(path: string): Promise<readonly StaticToken[]> {
  try {
    return parseTokenFile(await readFile(path, 'utf8'), path)
  } catch (cause) {
    if (cause instanceof TokenFileError) throw cause
    throw new TokenFileError('token-file-unreadable', `${path} could not be read: ${describeError(cause)}`, { cause })
  }
}

/** Checks whether users of the machine other than the owner may read or write the file. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  return ((await stat(path)).mode & 0o066) !== 0
}

export function parseTokenFile(text: string, path: string): readonly StaticToken[] {
  const tokens = new Map<string, StaticToken>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const where = `${path}:${index + 1}`
    const parsed = parseLine(line, where)
    if (tokens.has(parsed.token)) throw invalidLine(where, 'a token that no line above has')
    tokens.set(parsed.token, parsed)
  }
  return [...tokens.values()]
}

function parseLine(line: string, where: string): StaticToken {
  const row = `,${line}`
  const fields = [...row.matchAll(/,\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(?=,|$)/g)]
  if (fields.map(([whole]) => whole).join('') !== row) throw invalidLine(where, 'fields with commas between quotes')
  const [token = '', name = '', uid = '', groups = ''] = fields.map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  )
  if (fields.length < 3 || fields.length > 4) throw invalidLine(where, 'token,user,uid and perhaps "groups"')
  if (!/^[\x21-\x7e]+$/.test(token)) throw invalidLine(where, 'a token of visible ASCII characters')
  if (name === '') throw invalidLine(where, 'the name of a user')
  const names = groups.split(',').map((group) => group.trim())
  return { token, user: { name, groups: names.filter((group) => group !== ''), ...(uid === '' ? {} : { uid }) } }
}

function invalidLine(where: string, expected: string): TokenFileError {
  return new TokenFileError('token-file-invalid', `${where}: expected ${expected}`)
}
