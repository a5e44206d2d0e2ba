import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A file of the page in each encoding. */
export interface Page {
  readonly contentType: string
  readonly bodies: Readonly<Record<'identity' | 'gzip' | 'br', Buffer>>
}

export interface Pages {
  /** Names the content of all files: a changed page has other addresses, so browsers may keep them for ever. */
  readonly hash: string
  readonly index: Page
  readonly files: ReadonlyMap<string, Page>
}

/** Reads the files of the page; those of `index.html` are addressed below their hash. */
export async function readPages(folder = join(import.meta.dirname, 'page')): Promise<Pages> {
  const names = (await readdir(folder)).filter((name) => types[extname(name)] !== undefined).sort()
  const contents = await Promise.all(names.map((name) => readFile(join(folder, name))))
  const hash = createHash('sha256')
  for (const [index, content] of contents.entries()) hash.update(`${names[index]}\0${content.length}\0`).update(content)
  const digest = hash.digest('base64url').slice(0, 16)
  const files = new Map<string, Page>()
  for (const [index, name] of names.entries()) {
    const content = contents[index] ?? Buffer.of()
    files.set(name, await encode(name, name === 'index.html' ? addressFiles(content, digest) : content))
  }
  const index = files.get('index.html')
  if (index === undefined) throw new Error(`${folder} has no index.html`)
  files.delete('index.html')
  return { hash: digest, index, files }
}

function addressFiles(html: Buffer, digest: string): Buffer {
  return Buffer.from(html.toString('utf8').replaceAll('HASH', digest))
}

async function encode(name: string, content: Buffer): Promise<Page> {
  const [zipped, brotli] = await Promise.all([
    promisify(gzip)(content),
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  ])
  return { contentType: types[extname(name)] ?? '', bodies: { identity: content, gzip: zipped, br: brotli } }
}

/** Chooses an encoding that the browser takes; `q=0` refuses one (RFC 9110 12.5.3). */
export function chooseEncoding(accepted: string | undefined): 'identity' | 'gzip' | 'br' {
  const taken = (accepted ?? '').split(',').flatMap((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name]
  })
  if (taken.includes('br')) return 'br'
  return taken.includes('gzip') ? 'gzip' : 'identity'
}
