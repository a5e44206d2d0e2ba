/**
 * The certificate library, with the polyfill that it refuses to load without. Only loaded when something is to be signed, which most starts
 * do not: it takes about 100 ms and 24 MB.
 */
export async function loadX509(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata')
  return await import('@peculiar/x509')
}
