/**
 * Loads the certificate library and the polyfill that it requires. It is loaded only for signing, which most starts do not need: it
 * takes about 100 ms and 24 MB.
 */
export async function loadX509(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata')
  return await import('@peculiar/x509')
}
