/** Shows verified evidence. Every text of the evidence is set as text, never as markup. */
import { dateNotes, modelOf, signerOf, signingTimes } from './claims.js'
import type { Comparison } from './compare-key.js'
import { element, section, type Part } from './elements.js'
import { fingerprintField } from './fingerprint-field.js'
import { isFields, type Fields } from './read.js'
import { messagesOf, type ReadEvent, type ReadPrompt, type ReadSummary, type Step, type Verified } from './verify.js'
import { many, timeOf } from './words.js'

/** Longer texts are folded. */
const SHOWN_CHARACTERS = 1_200

/** A text; a long one with its beginning, to be opened. */
function textBlock(text: string): HTMLElement {
  if (text.length <= SHOWN_CHARACTERS) return element('pre', 'text', text)
  const whole = element(
    'details',
    'more',
    element('summary', '', `Show all ${text.length.toLocaleString('en')} characters`),
    element('pre', 'text', text),
  )
  return element('div', '', element('pre', 'text', `${text.slice(0, SHOWN_CHARACTERS)} …`), whole)
}

const folded = (title: string, ...parts: readonly Part[]): HTMLElement =>
  element('details', 'card', element('summary', '', title), ...parts)

/** The text of a message: its content, and the tools that it calls. */
function wordsOf(message: Fields): string {
  const { content } = message
  const parts = Array.isArray(content) ? content : [content]
  const texts = parts.flatMap((part: unknown) =>
    typeof part === 'string'
      ? [part]
      : isFields(part)
        ? [
            typeof part['text'] === 'string'
              ? part['text']
              : `[${typeof part['type'] === 'string' ? part['type'] : 'part'}]`,
          ]
        : [],
  )
  const calls = message['tool_calls'] ?? message['toolCalls']
  const called = Array.isArray(calls)
    ? calls.flatMap((call: unknown) =>
        isFields(call) && isFields(call['function'])
          ? [`calls ${String(call['function']['name'])}(${String(call['function']['arguments'])})`]
          : [],
      )
    : []
  return [...texts, ...called].join('\n')
}

const ROLES: Readonly<Record<string, string>> = {
  system: 'Instructions',
  developer: 'Instructions',
  user: 'User',
  assistant: 'Model',
  tool: 'Tool result',
}
const roleOf = ({ role }: Fields): string => ROLES[String(role)] ?? String(role)

const messageCard = (title: string, note: string, message: Fields, kind = ''): HTMLElement =>
  element(
    'article',
    `message ${kind}`,
    element('header', '', element('b', '', title), element('span', 'muted', note)),
    textBlock(wordsOf(message)),
  )

const recordedNote = ({ revision, recordedAt }: ReadEvent): string =>
  `event ${revision}, recorded ${timeOf(recordedAt)}`

function contextSection({ claims, messages, summaries, answer }: Verified): HTMLElement {
  const { messageIds, adapted } = claims.context
  const cards = messages.map((message, at) => {
    const isRecorded = messageIds[at] !== undefined && !adapted.has(at)
    const note = isRecorded
      ? 'word for word as recorded'
      : messageIds[at] === undefined
        ? 'made by the program: summaries of earlier messages, a repeated earlier message, or a note'
        : 'adapted by the program: with summaries, shortened or joined'
    return messageCard(`${String(at + 1)} · ${roleOf(message)}`, note, message, isRecorded ? '' : 'made')
  })
  const replaced = summaries.reduce((sum, summary) => sum + messagesOf(summary).length, 0)
  const what =
    answer === undefined
      ? 'The messages that a request to the model would have had at this moment'
      : 'The messages that the model saw before it wrote the answer below'
  return section(
    answer === undefined ? 'The context' : 'What the model saw',
    `${what}, in order.${replaced === 0 ? '' : ` Summaries had replaced ${many(replaced, 'earlier message')}; they are listed further below.`}`,
    ...cards,
  )
}

function summaryCard({ batchId, text, messages, summarizer, event, sources }: ReadSummary): HTMLElement {
  const prompt = summarizer === undefined ? undefined : summarizer['prompt']
  const by =
    summarizer === undefined
      ? 'written by another program'
      : `strategy ${String(summarizer['strategy'])}, model ${String(summarizer['model'])}, prompt ${isFields(prompt) ? String(prompt['name']) : 'unknown'}`
  const parts =
    sources.length > 0
      ? [folded(`Merged from ${many(sources.length, 'summary', 'summaries')}`, ...sources.map(summaryCard))]
      : [
          folded(
            `The ${many(messages.length, 'message')} that it stands for`,
            ...messages.map((message) => messageCard(roleOf(message.data), recordedNote(message), message.data)),
          ),
        ]
  return element(
    'article',
    'message made',
    element(
      'header',
      '',
      element('b', '', `Summary ${batchId}`),
      element('span', 'muted', `${by}; ${recordedNote(event)}`),
    ),
    textBlock(text),
    ...parts,
  )
}

const promptCard = ({ name, sha256, text }: ReadPrompt): HTMLElement =>
  folded(`${name} (SHA-256 ${sha256.slice(0, 12)}…)`, textBlock(text))

const MARKS = { ok: '✓', failed: '✗', open: '–' } as const
const WORDS = { ok: 'passed', failed: 'failed', open: 'not proven' } as const

const stepLine = ({ name, state, sentence }: Step): HTMLElement =>
  element(
    'li',
    state,
    element('span', 'mark', MARKS[state]),
    element('div', '', element('b', '', `${name}: ${WORDS[state]}`), element('p', '', sentence)),
  )

/** The sentence about the one check that a person does. */
function yourCheck(result: Comparison | undefined, isSigned: boolean): string {
  if (result?.state === 'failed')
    return 'The fingerprint that you pasted is not that of the key in this file. Ask the operator which one is right.'
  if (result?.state === 'ok')
    return isSigned
      ? 'The key is the one whose fingerprint you pasted.'
      : 'The file names the key whose fingerprint you pasted, but this browser could not verify its signature.'
  return 'One more check is yours: compare the fingerprint of the key, below. Until then, the maker of this file is unknown. A forger can make a file that passes all other checks.'
}

interface Verdict {
  readonly shown: HTMLElement
  /** Shows the result of the comparison of fingerprints. */
  readonly compared: (result: Comparison | undefined) => void
}

function verdictOf(steps: readonly Step[]): Verdict {
  const failed = steps.filter(({ state }) => state === 'failed').length
  const open = steps.filter(({ state }) => state === 'open')
  if (failed > 0)
    return {
      shown: element(
        'div',
        'verdict failed',
        element('b', '', `Do not rely on this file: ${many(failed, 'check')} failed`),
        element('p', '', 'It was changed after it was written, or it was not written by the program that it names.'),
      ),
      compared: () => undefined,
    }
  const isSigned = steps.some(({ name, state }) => name === 'Signature' && state === 'ok')
  const passed =
    open.length > 0
      ? `${String(steps.length - open.length)} of ${String(steps.length)} checks passed, none failed`
      : `All ${String(steps.length)} checks passed`
  const yours = element('p', '', yourCheck(undefined, isSigned))
  const title = element('b', '', passed)
  const output = element(
    'div',
    'verdict open',
    title,
    ...open.map(({ name, sentence }) => element('p', '', `Not proven: ${name}. ${sentence}`)),
    yours,
  )
  return {
    shown: output,
    compared: (result) => {
      // A forger's file passes all other checks too, so that it is green only after this one.
      const isComplete = result?.state === 'ok' && isSigned && open.length === 0
      output.className = `verdict ${result?.state === 'failed' ? 'failed' : isComplete ? 'ok' : 'open'}`
      title.textContent = result?.state === 'failed' ? 'Do not rely on this file: another key signed it' : passed
      yours.textContent = yourCheck(result, isSigned)
    },
  }
}

const keySection = ({ fingerprints }: Verified, onResult: (result: Comparison | undefined) => void): HTMLElement =>
  section(
    'Your part: who signed?',
    '',
    element(
      'p',
      '',
      'Anyone can make a key, sign with it, and write any name into a file. So compare the fingerprint of the key with the one that the operator gave you in another way, such as a contract, a public web page or by telephone. A fingerprint from the same message as this file proves nothing. Without one to compare, you know only that the parts of this file belong together.',
    ),
    element('p', 'muted', 'The fingerprint of the key in this file:'),
    ...fingerprints.map((fingerprint) => element('pre', 'text key', fingerprint)),
    ...(fingerprints.length === 0
      ? [element('p', 'failed', 'None: the signature in this file is not valid.')]
      : [fingerprintField(fingerprints, onResult)]),
  )

/** A statement of the file, with its name. */
const claim = (name: string, ...parts: readonly Part[]): readonly HTMLElement[] => [
  element('dt', '', name),
  element('dd', '', ...parts),
]

/** The statements of the file about the operator, the model and the times. */
function claimsList(verified: Verified): HTMLElement {
  const { claims, answer, events } = verified
  const moment = events.find(
    ({ revision, stream }) =>
      revision === claims.context.revision && stream === `conversation-${claims.conversationId}`,
  )
  const { name, source } = modelOf(verified)
  const { operator } = claims.unsigned
  const notes = dateNotes(verified)
  return element(
    'dl',
    'claims card',
    ...claim('Conversation', element('b', '', claims.conversationId)),
    ...claim(
      answer === undefined ? 'Moment' : 'Answer',
      answer === undefined
        ? moment === undefined
          ? 'unknown'
          : `after ${recordedNote(moment)}`
        : recordedNote(answer),
    ),
    ...claim('AI model', ...(name === undefined ? ['Not known: '] : [element('b', '', name), ', ']), `${source}.`),
    ...claim(
      'Operator',
      ...(operator === undefined
        ? ['Not named in this file. The operator is the holder of the key below.']
        : [element('b', '', operator), ', as the file says. Only the fingerprint of the key can confirm it.']),
    ),
    ...claim('Log signed', ...signingTimes(verified).map((time) => element('p', '', time))),
    ...(notes.length === 0 ? [] : claim('About the dates', ...notes.map((note) => element('p', '', note)))),
  )
}

const list = (title: string, intro: string, ...items: readonly string[]): HTMLElement =>
  element(
    'div',
    'card',
    element('h3', '', title),
    element('p', '', intro),
    element('ul', '', ...items.map((item) => element('li', '', item))),
  )

function meaningSection(verified: Verified): HTMLElement {
  const { note, answer, claims } = verified
  const { name } = modelOf(verified)
  const model = name === undefined ? 'the model' : `the model (${name}, by the log)`
  return section(
    'What this file proves',
    '',
    element(
      'div',
      'columns',
      list(
        'It proves',
        'By the checks that passed, after you compared the fingerprint:',
        `${signerOf(verified)} signed a log of ${many(note.size, 'event')}. The events in this file are in that log, and unchanged since it was signed. The file gives ${timeOf(claims.unsigned.signedAt)} as the time of signing.`,
        'This file has every event that the signed log has of this conversation, up to the moment shown here: none is left out, and none is added.',
        answer === undefined
          ? 'The messages below come from those events. Messages that the program adapted or made are marked.'
          : `The log names exactly the messages below as what ${model} saw before it answered.`,
      ),
      list(
        'It does not prove',
        'A signature shows who vouches for a text, not that the text is true:',
        ...(answer === undefined ? ['That the model received exactly the messages below.'] : []),
        'That the log was true and complete when it was signed. The program recorded what it was given, and signed it afterwards.',
        'That the operator has shown you everything: there may be other conversations, other logs, and later events.',
        claims.timeStamp === undefined
          ? 'When it happened, and when it was signed. Times are those of the operator’s clock, and no outside party confirms them in this file.'
          : 'When it happened. Times are those of the operator’s clock. A time stamp can confirm only that the log was signed before a certain time.',
        'Which model answered, and that it received nothing more, for example from its provider. The log has the name that the program was given.',
        'That a summary is correct. Compare it with its messages.',
        'Who the people are: names and roles are as recorded.',
      ),
    ),
  )
}

function detailSection({ claims, events }: Verified): HTMLElement {
  const rows = events.map(({ leaf, stream, revision, type, hash }) =>
    element('tr', '', ...[String(leaf), stream, revision, type, hash].map((cell) => element('td', '', cell))),
  )
  const head = element(
    'tr',
    '',
    ...['Place in the log', 'Stream', 'Event', 'Type', 'SHA-256'].map((cell) => element('th', '', cell)),
  )
  return section(
    'Details for experts',
    'The format is described in docs/reference/evidence.md of Context Ledger, and examples/verify-evidence.py verifies this file without this page.',
    folded('The signed checkpoint', element('pre', 'text', claims.note)),
    folded(
      `The ${many(events.length, 'event')} and their hashes`,
      element('table', '', element('thead', '', head), element('tbody', '', ...rows)),
    ),
  )
}

/** The whole page. */
export function showEvidence(verified: Verified, steps: readonly Step[]): Node[] {
  const { answer, summaries, prompts } = verified
  const verdict = verdictOf(steps)
  const model = modelOf(verified).name ?? 'an AI model'
  return [
    element(
      'p',
      'lead',
      answer === undefined
        ? `What ${model} would have received at one moment of a conversation.`
        : `What ${model} received before it wrote one answer.`,
    ),
    verdict.shown,
    claimsList(verified),
    element(
      'p',
      '',
      'An AI model does not remember. Before each answer, a program sends it a list of messages: the context. The operator of this AI system keeps a log of the conversation and wrote this file from it. This page verifies the file on your computer, without a network. The page is a part of the file: to be independent of it, use another verifier (“Details for experts”).',
    ),
    keySection(verified, verdict.compared),
    meaningSection(verified),
    section('The checks', '', element('ol', 'steps', ...steps.map(stepLine))),
    contextSection(verified),
    ...(answer === undefined
      ? []
      : [section('What the model answered', '', messageCard('Model', recordedNote(answer), answer.data))]),
    ...(summaries.length === 0
      ? []
      : [
          section(
            'Summaries',
            'The program replaced earlier messages by these summaries. Each lists the recorded messages that it replaces.',
            ...summaries.map(summaryCard),
          ),
        ]),
    ...(prompts.length === 0
      ? []
      : [section('Prompts', 'The instructions that the summaries were made with.', ...prompts.map(promptCard))]),
    detailSection(verified),
  ]
}

/** The page for a file that is no evidence. */
export const showBroken = (sentence: string): Node[] => [
  element(
    'div',
    'verdict failed',
    element('b', '', 'Do not rely on this file: it cannot be read'),
    element('p', '', sentence),
  ),
]
