/** The frame of every page: head, navigation and keyboard help. */
import type { Child } from 'hono/jsx'
import { raw } from 'hono/html'
import { conversationLink, link } from '../links.js'
import { Name, plain } from './text.js'

/** The tabs of a conversation, in the order of their keys. */
const TABS = [
  { key: '1', tab: 'timeline', name: 'Timeline', path: '/conversation' },
  { key: '2', tab: 'cycles', name: 'Cycles', path: '/cycles' },
  { key: '3', tab: 'graph', name: 'Graph', path: '/graph' },
  { key: '4', tab: 'editions', name: 'Editions', path: '/editions' },
  { key: '5', tab: 'log', name: 'Log', path: '/log' },
  { key: '6', tab: 'verify', name: 'Verify', path: '/verify' },
  { key: '7', tab: 'forgotten', name: 'Forgotten', path: '/forgotten' },
] as const

/** The name of a tab. */
export type Tab = (typeof TABS)[number]['tab']

const KEYS: readonly (readonly [string, string])[] = [
  ['← →', 'previous, next revision; with Shift, by ten'],
  ['[ ]', 'previous, next cycle, failure or undo'],
  ['Space', 'play, pause'],
  ['j k', 'next, previous message'],
  ['J K', 'next, previous line'],
  ['e or Enter', 'sources of the line'],
  ['n p', 'next, previous hit'],
  ['/', 'search'],
  ['1 … 7', 'tabs of the conversation'],
  ['Esc', 'close the dialog'],
  ['?', 'show keys'],
]

interface LayoutProps {
  title: string
  /** The ledger's name. */
  ledger: string
  /** The conversation that the page is about. */
  conversationId?: string | undefined
  tab?: Tab | undefined
  query?: string | undefined
  children?: Child
}

/** The tabs of a conversation. */
function Tabs({ conversationId, tab }: { conversationId: string; tab: Tab | undefined }): Child {
  return (
    <nav class="tabs" aria-label="Conversation">
      {TABS.map((each) => (
        <a
          href={
            each.tab === 'timeline' ? conversationLink({ c: conversationId }) : link(each.path, { c: conversationId })
          }
          aria-current={each.tab === tab ? 'page' : undefined}
          data-key={each.key}
        >
          {each.name}
        </a>
      ))}
    </nav>
  )
}

/** A complete page. */
export function Layout({ title, ledger, conversationId, tab, query, children }: LayoutProps): Child {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <title>{`${plain(title)} · Context Ledger`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
          <link rel="stylesheet" href="/assets/page.css" />
          <script type="module" src="/assets/page.js"></script>
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
                <a href="/" aria-current={title === 'Conversations' ? 'page' : undefined}>
                  Conversations
                </a>
                <a
                  href="/verify"
                  aria-current={title === 'Verify' && conversationId === undefined ? 'page' : undefined}
                >
                  Verify
                </a>
                <button type="button" class="quiet needs-script" data-open="keys" title="Keys (?)">
                  Keys
                </button>
              </nav>
              <form role="search" action="/search" class="find">
                {conversationId === undefined ? null : <input type="hidden" name="c" value={conversationId} />}
                <input
                  type="search"
                  name="q"
                  value={query}
                  placeholder={conversationId === undefined ? 'Search the ledger' : 'Search this conversation'}
                  aria-label={conversationId === undefined ? 'Search the ledger' : 'Search this conversation'}
                  data-search
                />
                <button type="submit">Search</button>
              </form>
            </div>
            {conversationId === undefined ? null : (
              <div class="sub">
                <h1>
                  <Name text={conversationId} />
                </h1>
                <Tabs conversationId={conversationId} tab={tab} />
              </div>
            )}
          </header>
          <main id="main" tabindex={-1}>
            <p class="in-print muted">
              {plain(title)}, ledger <Name text={ledger} />. Only loaded parts are printed; other parts show their
              address.
            </p>
            {children}
          </main>
          <dialog id="keys" aria-labelledby="keys-title">
            <h2 id="keys-title">Keys</h2>
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
        </body>
      </html>
    </>
  )
}
