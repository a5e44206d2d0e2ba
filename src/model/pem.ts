/** Finds the certificates of a PEM text (RFC 7468), each with its two lines of frame; what the frames hold is not checked. */
export function findCertificateBlocks(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
}
