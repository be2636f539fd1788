/** Shows verified evidence. Every text of the evidence is set as text, never as markup. */
import { isFields, type Fields } from './read.js'
import { messagesOf, type ReadEvent, type ReadPrompt, type ReadSummary, type Step, type Verified } from './verify.js'

type Part = Node | string

/** An element with a class and content. */
function element(tag: string, name: string, ...parts: readonly Part[]): HTMLElement {
  const made = document.createElement(tag)
  if (name !== '') made.className = name
  made.append(...parts)
  return made
}

const many = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`

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

const section = (title: string, intro: string, ...parts: readonly Part[]): HTMLElement =>
  element('section', '', element('h2', '', title), ...(intro === '' ? [] : [element('p', 'muted', intro)]), ...parts)

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
  `event ${revision}, recorded ${recordedAt.slice(0, 16).replace('T', ' ')} UTC`

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

function verdictOf(steps: readonly Step[]): HTMLElement {
  const failed = steps.filter(({ state }) => state === 'failed').length
  const open = steps.filter(({ state }) => state === 'open')
  if (failed > 0)
    return element(
      'div',
      'verdict failed',
      element('b', '', `Do not rely on this file: ${many(failed, 'check')} failed`),
      element('p', '', 'It was changed after it was written, or it was not written by the program that it names.'),
    )
  return element(
    'div',
    `verdict ${open.length > 0 ? 'open' : 'ok'}`,
    element(
      'b',
      '',
      open.length > 0
        ? `${String(steps.length - open.length)} of ${String(steps.length)} checks passed, none failed`
        : `All ${String(steps.length)} checks passed`,
    ),
    ...open.map(({ name, sentence }) => element('p', '', `Not proven: ${name}. ${sentence}`)),
    element('p', '', 'One more check is yours: compare the fingerprint of the key, below.'),
  )
}

function keySection({ fingerprints, claims }: Verified): HTMLElement {
  const stamp =
    claims.timeStamp === undefined
      ? []
      : [
          element(
            'p',
            'muted',
            'The file has a time stamp (RFC 3161) of the checkpoint. This page does not verify it; `openssl ts` does.',
          ),
        ]
  return section(
    'Your part: who signed?',
    '',
    element(
      'p',
      '',
      'Anyone can make a key and sign. Compare this fingerprint with the one that the operator of the AI system gave you in another way, such as a contract or a public web page. If you have none to compare, this file proves only that its parts belong together.',
    ),
    ...fingerprints.map((fingerprint) => element('pre', 'text key', fingerprint)),
    ...stamp,
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

function meaningSection({ note, answer, claims }: Verified): HTMLElement {
  return section(
    'What this file proves',
    '',
    element(
      'div',
      'columns',
      list(
        'It proves',
        'By the checks that passed, if the fingerprint is the right one:',
        `The holder of the key signed a log of ${many(note.size, 'event')}. The events in this file are in it, and unchanged since then.`,
        'Within the signed log, no event of this conversation was left out or added, up to the moment shown here.',
        answer === undefined
          ? 'The messages below come from those events. Messages that the program adapted or made are marked.'
          : 'The log names exactly the messages below as what the model saw before it answered.',
      ),
      list(
        'It does not prove',
        'A signature shows who vouches for a text, not that the text is true:',
        ...(answer === undefined ? ['That the model received exactly the messages below.'] : []),
        'The log may be wrong or incomplete from the start. The program recorded what it was given, and signed it afterwards.',
        claims.timeStamp === undefined
          ? 'Times are those of the operator’s clock. No outside party confirms them in this file.'
          : 'Times are those of the operator’s clock. Only the time of the signature is confirmed, by a time stamp service.',
        'A summary may be wrong. Compare it with its messages.',
        'The model may have received more, for example from its provider or from another program.',
        'Nobody verified who the people are: names and roles are as recorded.',
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
  const { claims, answer, summaries, prompts, events } = verified
  const moment = events.find(
    ({ revision, stream }) =>
      revision === claims.context.revision && stream === `conversation-${claims.conversationId}`,
  )
  return [
    element(
      'p',
      'lead',
      'Conversation ',
      element('b', '', claims.conversationId),
      moment === undefined ? '' : `, as it was after ${recordedNote(moment)}.`,
    ),
    element(
      'p',
      '',
      'An AI model does not remember. Before each answer, a program sends it a list of messages: the context. The operator of this AI system keeps a log of the conversation and wrote this file from it. This page verifies the file on your computer, without a network. The page is a part of the file: to be independent of it, use another verifier (“Details for experts”).',
    ),
    verdictOf(steps),
    keySection(verified),
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
