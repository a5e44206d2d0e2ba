import { gzipSync } from 'node:zlib'

export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string
  readonly text: string
}

const blockBytes = 512

/** Builds a compressed archive of regular files with mode 0600 (POSIX.1-1988 ustar). `atMs` is the time of all files. */
export function tarGz(files: readonly TarFile[], atMs: number): Buffer {
  const blocks = files.flatMap(({ name, text }) => {
    const content = Buffer.from(text)
    const padding = Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)
    return [header(name, content.length, atMs), content, padding]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]))
}

function header(name: string, bytes: number, atMs: number): Buffer {
  const block = Buffer.alloc(blockBytes)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  block.write(name, 0, 100)
  block.write(octal(0o600, 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(bytes, 11), 124)
  block.write(octal(Math.floor(atMs / 1000), 11), 136)
  // The checksum counts its own field as spaces.
  block.write(' '.repeat(8), 148)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
    148,
  )
  return block
}
