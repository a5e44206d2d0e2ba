/** The longest part of a text answer that an error shows. */
const maxShown = 2048

/** Sentences of client-go about an answer without a Status of its own. */
const sentences: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

/** Describes an HTTP answer that is no success, in the words of client-go. Of a body that is text the beginning is shown. */
export function describeRefusal(code: number, contentType: string, body: string): string {
  const shown = contentType.startsWith('text/') ? body.slice(0, maxShown).trim() : 'unknown'
  if (code === 403 || code === 415) return shown
  const sentence = sentences[code]
  if (sentence !== undefined) return sentence
  return code >= 500
    ? `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`
    : `the server responded with the status code ${code} but did not return more information`
}
