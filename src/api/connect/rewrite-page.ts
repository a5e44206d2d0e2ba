import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import { RewritingStream } from 'parse5-html-rewriting-stream'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { LinkRewriter } from './links.ts'

/** A longer page is passed on as it is. */
const maxPageBytes = 1024 * 1024
const decompress = promisify(unzip)

/** Attributes with one link, by element (HTML, "Attributes"). */
const linkAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

/** Checks for a page whose links can be rewritten: HTML, plain or compressed in a way that is known here. */
export function isPage({ headers }: IncomingMessage): boolean {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return type === 'text/html' && [undefined, '', 'identity', 'gzip', 'deflate'].includes(headers['content-encoding'])
}

/** Reads a page up to the limit; what is left of a longer one can still be read. */
export async function readStart(
  answer: IncomingMessage,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
    if (length > maxPageBytes) return { bytes: Buffer.concat(chunks), isWhole: false }
  }
  return { bytes: Buffer.concat(chunks), isWhole: true }
}

/** Rewrites the links of a page, which is not compressed then; undefined for one that is not valid UTF-8, as it must stay. */
export async function rewritePage(
  bytes: Buffer,
  encoding: string | undefined,
  links: LinkRewriter,
): Promise<Buffer | undefined> {
  const isPlain = encoding === undefined || encoding === '' || encoding === 'identity'
  const plain = isPlain ? bytes : await decompress(bytes, { maxOutputLength: maxPageBytes }).catch(() => undefined)
  if (plain === undefined || !isUtf8(plain)) return undefined
  const stream = new RewritingStream()
  stream.on('startTag', (tag, raw) => {
    const names = Object.hasOwn(linkAttributes, tag.tagName) ? linkAttributes[tag.tagName] : undefined
    const changed = tag.attrs.map((each) =>
      names?.includes(each.name) === true ? { ...each, value: links(each.value) } : each,
    )
    if (changed.every(({ value }, at) => value === tag.attrs[at]?.value)) stream.emitRaw(raw)
    else stream.emitStartTag({ ...tag, attrs: changed })
  })
  const rewritten = text(stream)
  await writeInSlices(stream, plain.toString())
  return Buffer.from(await rewritten)
}

const sliceChars = 4 * 1024

/** Parsing takes time: other requests get their turns between the parts of a long page. */
async function writeInSlices(stream: RewritingStream, page: string): Promise<void> {
  const slice = new TimeSlice()
  for (let at = 0; at < page.length; at += sliceChars) {
    stream.write(page.slice(at, at + sliceChars))
    await slice.whenSpent()
  }
  stream.end()
}
