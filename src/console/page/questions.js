import { el, failure, fill } from './dom.js'
import { ask } from './stream.js'

/**
 * A form that asks one question and shows the answer below.
 *
 * @param {object} parts
 * @param {string} parts.title
 * @param {string} parts.note
 * @param {HTMLElement[]} parts.fields
 * @param {() => { path: string, query: Record<string, string> }} parts.question
 * @param {(answer: any) => Node[]} parts.render
 */
export function createForm({ title, note, fields, question, render }) {
  const answer = el('div', { class: 'answer', 'aria-live': 'polite' })
  const button = el('button', { type: 'submit' }, 'Ask')
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault()
    const { path, query } = question()
    button.disabled = true
    try {
      fill(answer, ...render(await ask(path, query)))
    } catch (error) {
      fill(answer, failure(error instanceof Error ? error.message : String(error)))
    } finally {
      button.disabled = false
    }
  }
  return el(
    'section',
    { class: 'panel question' },
    el('h2', {}, title),
    el('p', { class: 'quiet' }, note),
    el('form', { submit, class: 'fields' }, ...fields, button),
    answer,
  )
}

/**
 * @param {string} label
 * @param {HTMLElement} control
 */
export function field(label, control) {
  return el('label', {}, el('span', {}, label), control)
}

/**
 * @param {string} placeholder
 * @param {Record<string, string | number | boolean>} [more]
 */
export function input(placeholder, more = {}) {
  return el('input', { placeholder, required: true, autocomplete: 'off', spellcheck: 'false', ...more })
}

/** @param {readonly string[]} lines */
export function lines(lines) {
  return el('ol', { class: 'lines' }, ...lines.map((line) => el('li', {}, line)))
}
