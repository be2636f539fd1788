/** The frame of every page: head, navigation and keyboard help. */
import type { Child } from 'hono/jsx'
import { raw } from 'hono/html'
import type { ConversationSummary } from '../../../library/ledger.js'
import { assetAddress } from '../assets.js'
import { link } from '../links.js'
import { lastTime, nameOf } from '../reading/conversation-summary.js'
import { many, Name, plain, Time, visible } from './text.js'

/** The tabs of a conversation, in the order of their keys. */
const TABS = [
  { key: '1', tab: 'timeline', name: 'Conversation', path: '/conversation' },
  { key: '2', tab: 'forgotten', name: 'Forgotten', path: '/forgotten' },
  { key: '3', tab: 'rules', name: 'Rules', path: '/rules' },
  { key: '4', tab: 'cycles', name: 'Compactions', path: '/cycles' },
  { key: '5', tab: 'graph', name: 'Sources', path: '/graph' },
  { key: '6', tab: 'editions', name: 'Editions', path: '/editions' },
  { key: '7', tab: 'log', name: 'Log', path: '/log' },
  { key: '8', tab: 'verify', name: 'Verify', path: '/verify' },
] as const

/** The title of the start page. */
export const START = 'Conversations'

/** The title of the search page. */
export const SEARCH = 'Search'

/** The name of a tab. */
export type Tab = (typeof TABS)[number]['tab']

const KEYS: readonly (readonly [string, string])[] = [
  ['← →', 'previous, next event; with Shift, by ten'],
  ['[ ]', 'previous, next compaction or other mark'],
  ['Space', 'play, pause'],
  ['j k', 'next, previous message'],
  ['o', 'fold, unfold the tool calls of a message'],
  ['J K', 'next, previous line of a summary'],
  ['e or Enter', 'sources of the line'],
  ['n p', 'next, previous hit'],
  ['/', 'search'],
  ['1 … 8', 'tabs of the conversation'],
  ['Esc', 'close the dialog'],
  ['?', 'show the shortcuts'],
]

/** The conversation that a page is about; without a summary if the list does not have it. */
interface NamedConversation {
  readonly id: string
  readonly summary: ConversationSummary | undefined
}

interface LayoutProps {
  title: string
  /** The ledger's name. */
  ledger: string
  conversation?: NamedConversation | undefined
  tab?: Tab | undefined
  query?: string | undefined
  children?: Child
}

/** The name of a conversation for people; its id if the list does not have it. */
const headingOf = ({ id, summary }: NamedConversation): string => (summary === undefined ? id : nameOf(summary))

/** Origin, time and size of a conversation. */
export function ConversationFacts({ summary }: { summary: ConversationSummary }): Child {
  const { person, program, project, messages, compactions } = summary
  return (
    <>
      {person === undefined ? null : <span>{visible(person)}</span>}
      {program === undefined ? null : <span>{visible(program)}</span>}
      {project === undefined ? null : <Name text={project} most={60} />}
      <span>
        last message <Time at={lastTime(summary)} isShort />
      </span>
      <span>{many(messages, 'message')}</span>
      {compactions === 0 ? null : <span>{many(compactions, 'compaction')}</span>}
    </>
  )
}

/** Title, origin and tabs of a conversation. */
function ConversationHead({ conversation, tab }: { conversation: NamedConversation; tab: Tab | undefined }): Child {
  const { id, summary } = conversation
  return (
    <div class="sub">
      <h1>
        <Name text={headingOf(conversation)} most={160} />
      </h1>
      <p class="about">
        {summary === undefined ? null : <ConversationFacts summary={summary} />}
        {summary?.lost === undefined || summary.lost === 0 ? null : (
          <a class="bad" href={link('/forgotten', { c: id })}>
            {many(summary.lost, 'item')} lost
          </a>
        )}
        {summary === undefined ? null : (
          <span class="id">
            <Name text={id} most={80} />
          </span>
        )}
      </p>
      <nav class="tabs" aria-label="Conversation">
        {TABS.map((each) => (
          <a href={link(each.path, { c: id })} aria-current={each.tab === tab ? 'page' : undefined} data-key={each.key}>
            {each.name}
          </a>
        ))}
      </nav>
    </div>
  )
}

/** Search in the ledger, or in the conversation of the page. */
function Find({ conversationId, query }: { conversationId: string | undefined; query: string | undefined }): Child {
  const label = conversationId === undefined ? 'Search all messages' : 'Search this conversation'
  return (
    <form role="search" action="/search" class="find">
      {conversationId === undefined ? null : <input type="hidden" name="c" value={conversationId} />}
      <input type="search" name="q" value={query} placeholder={label} aria-label={label} data-search />
      <button type="submit">Search</button>
    </form>
  )
}

function Shortcuts(): Child {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
      <dl class="keys">
        {KEYS.map(([key, action]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{action}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  )
}

/** A complete page. */
export function Layout({ title, ledger, conversation, tab, query, children }: LayoutProps): Child {
  const name = conversation === undefined ? title : `${headingOf(conversation).slice(0, 60)} · ${title}`
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <title>{`${plain(name)} · Context Ledger`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href={assetAddress('icon.svg')} type="image/svg+xml" />
          <link rel="stylesheet" href={assetAddress('page.css')} />
          <script type="module" src={assetAddress('page.js')}></script>
        </head>
        <body>
          <a class="skip" href="#main">
            Skip to content
          </a>
          <header>
            <div class="top">
              <a class="home" href="/">
                Context Ledger
              </a>
              <span class="where">
                <Name text={ledger} most={60} />
              </span>
              <nav aria-label="Ledger">
                <a href="/" aria-current={title === START ? 'page' : undefined}>
                  {START}
                </a>
                <a href="/search" aria-current={title === SEARCH ? 'page' : undefined}>
                  {SEARCH}
                </a>
                <a href="/verify" aria-current={title === 'Verify' && conversation === undefined ? 'page' : undefined}>
                  Verify
                </a>
                <button type="button" class="quiet needs-script" data-open="keys" title="Keyboard shortcuts (?)">
                  Shortcuts
                </button>
              </nav>
              {title === START || title === SEARCH ? null : <Find conversationId={conversation?.id} query={query} />}
            </div>
            {conversation === undefined ? null : <ConversationHead conversation={conversation} tab={tab} />}
          </header>
          <main id="main" tabindex={-1}>
            <p class="in-print muted">
              {plain(title)}, ledger <Name text={ledger} />. Only loaded parts are printed; other parts show their
              address.
            </p>
            {children}
          </main>
          <Shortcuts />
        </body>
      </html>
    </>
  )
}
