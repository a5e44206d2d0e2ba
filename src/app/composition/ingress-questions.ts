import type { ControlAnswer } from '../../node/control/index.ts'
import type { parseAskedUrl, UrlExplanation } from '../../node/ingress/index.ts'

/** Answers `platnet explain URL` in the running agent; `explain` gives undefined until the API server has answered. */
export function ingressQuestions(
  explain: ((url: NonNullable<ReturnType<typeof parseAskedUrl>>) => UrlExplanation | undefined) | undefined,
) {
  return {
    '/explain/url': async (query: URLSearchParams): Promise<ControlAnswer> => {
      if (explain === undefined)
        return { status: 503, body: { error: 'this agent runs without ingress (--components)' } }
      const { parseAskedUrl } = await import('../../node/ingress/index.ts')
      const url = parseAskedUrl(query.get('url') ?? '')
      if (url === undefined)
        return { status: 400, body: { error: 'expected a URL such as http://shop.example.com/cart' } }
      const explanation = explain(url)
      if (explanation !== undefined) return { status: 200, body: explanation }
      return { status: 503, body: { error: 'the agent has not read the Ingresses yet' } }
    },
  }
}
