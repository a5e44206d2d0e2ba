import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { describeError, PlatnetError } from '../model/errors.ts'

type FileErrorCode = 'missing' | 'not-regular' | 'too-large' | 'unreadable'

/** The reason why a file was not read. */
export class FileError extends PlatnetError<FileErrorCode> {}

/** Flags with which opening a FIFO does not wait for a writer, and a terminal does not become the controlling one. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/** Size of a read, so that a file that reports size 0 (as in /proc) costs no more memory than its content. */
const pieceBytes = 65_536

/**
 * Reads a regular file of at most `maxBytes` bytes. Symbolic links are followed to a regular file. The type is checked before the open,
 * because opening a device may have effects, and after it, because the path may have changed meanwhile. Throws FileError.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  let file: FileHandle | undefined
  try {
    checkKind(path, await stat(path), maxBytes)
    file = await open(path, openFlags)
    checkKind(path, await file.stat(), maxBytes)
    const pieces = new Pieces(path, maxBytes)
    for (let read = pieceBytes; read > 0; ) {
      const piece = Buffer.allocUnsafe(pieceBytes)
      read = (await file.read(piece)).bytesRead
      pieces.add(piece.subarray(0, read))
    }
    return pieces.whole
  } catch (error) {
    throw asFileError(path, error)
  } finally {
    await file?.close()
  }
}

/** Reads a regular file synchronously, with the checks of `readRegularFile`. */
export function readRegularFileSync(path: string, maxBytes: number): Buffer {
  let file: number | undefined
  try {
    checkKind(path, statSync(path), maxBytes)
    file = openSync(path, openFlags)
    checkKind(path, fstatSync(file), maxBytes)
    const pieces = new Pieces(path, maxBytes)
    for (let read = pieceBytes; read > 0; ) {
      const piece = Buffer.allocUnsafe(pieceBytes)
      read = readSync(file, piece)
      pieces.add(piece.subarray(0, read))
    }
    return pieces.whole
  } catch (error) {
    throw asFileError(path, error)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

class Pieces {
  readonly #path: string
  readonly #maxBytes: number
  readonly #pieces: Buffer[] = []
  #length = 0

  constructor(path: string, maxBytes: number) {
    this.#path = path
    this.#maxBytes = maxBytes
  }

  add(piece: Buffer): void {
    this.#length += piece.length
    if (this.#length > this.#maxBytes) throw tooLarge(this.#path, this.#maxBytes)
    this.#pieces.push(piece)
  }

  get whole(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}

function checkKind(path: string, stats: Stats, maxBytes: number): void {
  if (!stats.isFile()) throw new FileError('not-regular', `${path} is ${kindOf(stats)}, not a regular file`)
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes)
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory'
  if (stats.isFIFO()) return 'a FIFO'
  if (stats.isSocket()) return 'a socket'
  return 'a device'
}

function tooLarge(path: string, maxBytes: number): FileError {
  return new FileError('too-large', `${path} is larger than ${maxBytes} bytes`)
}

function asFileError(path: string, error: unknown): FileError {
  if (error instanceof FileError) return error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR') return new FileError('missing', `${path} does not exist`)
  return new FileError('unreadable', `${path} cannot be read: ${describeError(error)}`, { cause: error })
}
