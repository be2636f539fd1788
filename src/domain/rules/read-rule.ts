/**
 * Reads the words of a rule as conditions that calls can be compared with. If the words leave a doubt, the rule
 * is not judged, and its report says so: a wrong accusation is worse.
 */
import { clausesOf, isNegated } from '../text/cues.js'
import { contentWords } from '../text/content-words.js'
import { ACTIONS, actionsIn, withoutActions, type Action } from './actions.js'
import { askedClauses, ASKS, ASKS_FIRST } from './asked-clauses.js'
import { areasOf, FAMILIES, isProgram, programOfProduct, targetsOf, type Target } from './targets.js'

/** Languages of answers that can be recognized. */
export type Language = 'english' | 'german' | 'spanish' | 'french' | 'japanese' | 'chinese' | 'korean' | 'russian'

export type Condition =
  /** No call does one of the actions to one of the targets; without targets, at all. */
  | { readonly kind: 'forbid'; readonly actions: readonly Action[]; readonly targets: readonly Target[] }
  /** A call that does the action does it to one of the targets. */
  | { readonly kind: 'only'; readonly action: Action; readonly targets: readonly Target[] }
  /** Before a call that does the action, all commands ran since the last one. */
  | { readonly kind: 'first'; readonly action: Action; readonly commands: readonly Target[] }
  /** A call of the command, or one that does the action, has the flag. */
  | { readonly kind: 'with'; readonly command?: Target; readonly action?: Action; readonly flag: Target }
  /** No amount of a call that does the action is above the limit. */
  | {
      readonly kind: 'cap'
      readonly action: Action
      readonly most: number
      readonly isPercent: boolean
      readonly subject: readonly string[]
    }
  /** An action is made at a time of day in UTC: from one minute of the day to another, or never then. */
  | {
      readonly kind: 'window'
      readonly actions: readonly Action[]
      readonly targets: readonly Target[]
      readonly from: number
      readonly to: number
      readonly isAllowed: boolean
    }
  /** No tool whose name has only words of the rule is called: `void_letter` for "ask me before you void a letter". */
  | { readonly kind: 'tool'; readonly words: readonly string[]; readonly actions: readonly Action[] }
  | { readonly kind: 'language'; readonly language: Language }

/**
 * The conditions of a rule. If `unjudged` says why a rule cannot be judged, its conditions find some calls that break
 * it, and that none is found says nothing.
 */
export interface ReadRule {
  readonly conditions: readonly Condition[]
  readonly unjudged?: string
}

/** A word that forbids without a negation. */
const FORBIDS =
  /(?<![\p{L}])(?:nothing|nobody|no one|none|off the table|not (?:ok|okay|fine|allowed)|(?:is|are) (?:mine|banned|taboo)|only (?:i|we)|i (?:do|run|trigger|make) (?:the|all|it)|keep away|hold off|fingers? off|no[- ]go|out of the question|not how we|sacred|locked|append[- ]only|(?:is|are) for me|for me to do|by me\b.*\bnot by you|not by (?:you|us)|off for you|(?:is|are) (?:the )?\p{L}+['’]s? (?:alone|department|business|job|call|territory)|hands? to (?:your)?self|lässt du|nicht mehr du|macht nur|bleibt (?:so|wie)|sagrad[oa]s?|bloquead[oa]s?|nichts|niemand|keiner|nada|nadie|ningun[oa]?|solo yo|off[- ]limits|frozen|read[- ]only|hands off|stay (?:away|out|off)|keep (?:your hands )?(?:away|off|out)|forbidden|prohibited|leave\b.*\b(?:alone|untouched|as (?:it|they|is)|be)(?![\p{L}])|stop \p{L}+ing|avoid|refrain|tabu|eingefroren|finger weg|gesperrt|unverändert|verboten|untersagt|prohibid[oa]s?|congelad[oa]s?|intocables?|solo lectura|vetad[oa]s?|deja(?:d)? (?:en paz|como est|intact)|evita(?:r)?)(?![\p{L}])|凍結|読み取り専用|禁止|手を(?:付け|つけ)ない|触らない|やめて|私だけ|私が(?:やり|行い)|只有我|由我|冻结|只读|别|勿|禁|一律不|不归你/iu
const ONLY =
  /(?<![\p{L}-])(?<!(?<![\p{L}])(?:not|nicht|no|non|pas)\s)(?:only|exclusively|solely|nothing but|nowhere (?:else|but)|nur|ausschließlich|solo|sólo|solamente|únicamente|seulement|uniquement)(?![\p{L}])|だけ(?!で(?:は)?なく|じゃなく)|のみ(?!なら)|以外|(?<!不)(?:只能|只|仅)/iu
const BEFORE =
  /(?<![\p{L}])(?:before (?:every|each|any|you|a|the)?|prior to|vor (?:jedem|jeder|dem|der)|bevor (?:du|sie)?|antes de(?: cada)?|avant (?:de|chaque))(?![\p{L}])|(?:する)?前に|之前|前/iu
const CONDITIONAL =
  /(?<![\p{L}])(?:unless|except|if|when(?:ever)?|while|until|außer|wenn|falls|solange|bis|salvo|excepto|si|cuando|mientras|hasta)(?![\p{L}])|除非|如果|場合|なら|限り|まで/iu
/** It applies to one piece of work, and calls do not show to which one they belong. */
const FOR_ONE_TASK =
  /(?<![\p{L}])(?:(?:for|during|in) (?:the|this|that) (?:[\w-]+ ){0,3}(?:change|task|feature|fix|pr|pull request|refactor(?:ing)?|ticket|issue)|für (?:die|den|das|diese[nrs]?) (?:[\p{L}-]+ ){0,2}(?:[\p{L}-]*änderung|aufgabe|fix|ticket|umbau)|para (?:el|la|este|esta) (?:[\p{L}-]+ ){0,3}(?:cambio|tarea|arreglo|ticket))(?![\p{L}])|この(?:変更|作業|修正|タスク)(?:では|は|の間)|这次(?:改动|修改|任务|变更)/iu
/** A time of day: in which zone is not said. */
const TIMES =
  /(?<![\p{L}])(?:between \d|after \d{1,2}(?::\d\d|\s?[ap]m)|before \d{1,2}(?::\d\d|\s?[ap]m)|nights?|office hours|uhr|fin de semana|de la (?:mañana|tarde|noche))(?![\p{L}])|\d\s?[時点]/iu

/** The rule forbids leaving something out: the names in it are wanted. */
const LEAVES_OUT =
  /(?<![\p{L}])(?:forget|forgetting|skip(?:ping)?|miss(?:ing)?|omit(?:ting)?|neglect|vergiss|vergessen|überspring\p{L}*|auslass\p{L}*|olvid\p{L}+|omit\p{L}+|salt(?:es|ar|ear))(?![\p{L}])|忘|漏|跳过|略さ|省略/iu
/** The words after one of these are not forbidden: they name a condition, or the place of an exception. */
const WITHOUT =
  /(?<![\p{L}])(?:without|outside(?: of)?|beyond|apart from|other than|ohne|außerhalb|sin|fuera de|sans)(?![\p{L}])|以外|之外|なしで/iu
/** It may be done without asking. */
const UNASKED =
  /(?<![\p{L}])(?:without|no need (?:to|for)|need(?:n['’]t| not)|don['’]t (?:need|have) to|ohne|sin|kein)\s+(?:\p{L}+\s+){0,2}(?:ask\p{L}*|confirm\p{L}*|approv\p{L}*|permission|rückfrage|rücksprache|zu fragen|preguntar\p{L}*|permiso)/iu

/** Words for any object: they limit nothing. */
const ANY_OBJECT = new Set(
  contentWords(
    `anything everything nothing something whatever code change changes file files folder folders directory directories branch branches repo
  repository project table tables database databases db host hosts server servers environment env remote origin direct directly straight ever
  again time moment place day machine system production prod even quick fix typo reason circumstance circumstances case hand manually new
  dependency dependencies package packages library libraries tool tools command commands flag hook hooks history shared local yourself own
  service services stuff matter happens want single row rows line lines data content contents thing bit all any whole customer customers client clients mail mails email emails message messages kunde kunden cliente clientes entire under inside
  within there it them that this hands limits dentro innerhalb dans darin reason exception exceptions agent you me us team here out away alone careful strictly
  absolutely really sofort mehr künftig today week month everything goes gets mean means session moment author tonight morning write writes writing read directly first explicitly explicit written chat go ahead word
  nichts etwas alles dateien datei ordner verzeichnis zweig direkt umständen fall fälle mal selbst neue neuen pakete paket bibliotheken code
  tabelle datenbank server irgendwas einfach eigenmächtig vorher finger hand egal
  nada todo toda archivo archivos carpeta rama directamente ningún ninguna caso circunstancia nuevo nuevos nuevas paquete paquetes tabla base
  hagas haga hacer mach mache machst machen datos servidor ficheros fichero directorio código cambios`,
  ),
)

const LANGUAGES: readonly (readonly [Language, RegExp])[] = [
  ['english', /(?<![\p{L}])(?:english|englisch|auf englisch|inglés|anglais)(?![\p{L}])|英語|英语|英文/iu],
  ['german', /(?<![\p{L}])(?:german|deutsch|alemán|allemand)(?![\p{L}])|ドイツ語|德语/iu],
  ['spanish', /(?<![\p{L}])(?:spanish|spanisch|español|castellano|espagnol)(?![\p{L}])|スペイン語|西班牙语/iu],
  ['french', /(?<![\p{L}])(?:french|französisch|francés|français)(?![\p{L}])|フランス語|法语/iu],
  ['japanese', /(?<![\p{L}])(?:japanese|japanisch|japonés)(?![\p{L}])|日本語|日语/iu],
  ['chinese', /(?<![\p{L}])(?:chinese|chinesisch|chino)(?![\p{L}])|中国語|中文/iu],
  ['korean', /(?<![\p{L}])(?:korean|koreanisch|coreano)(?![\p{L}])|韓国語|한국어|韩语/iu],
  ['russian', /(?<![\p{L}])(?:russian|russisch|ruso)(?![\p{L}])|ロシア語|俄语/iu],
]
const ANSWERS =
  /(?<![\p{L}])(?:answer|reply|respond|speak|talk|write to me|explain|communicate|antwort\p{L}*|sprich|schreib\p{L}* mir|respond\p{L}*|contest\p{L}*|habla\p{L}*|répond\p{L}*)(?![\p{L}])|答え|返事|返信|回答|説明|回复|답변|대답/iu
const CAPS =
  /(?<![\p{L}])(?:cap(?:ped)?|at most|as far as|no bigger|no higher|and no more|nothing above|past that|no more than|not more than|maximum|max|up to|limit(?:ed)?|under|below|above|over|exceed\p{L}*|more than|höchstens|maximal|nicht über|über|como (?:máximo|mucho)|más de|tope|superar|pasar de)(?![\p{L}])|上限|以内|以下|最大|まで|超え|最多|不超过|超过/iu

const TELLING = new Set<Action>(ACTIONS.flatMap(({ action, isTelling }) => (isTelling === true ? [action] : [])))
const BRANCH_ACTIONS: ReadonlySet<Action> = new Set(['push', 'forcePush', 'commit', 'merge', 'rebase', 'deploy'])

interface Clause {
  readonly text: string
  /** The number of its sentence in the rule. */
  readonly sentence: number
  readonly isForbidding: boolean
  readonly actions: readonly Action[]
  readonly targets: readonly Target[]
}

/** A clause after one of these names the rejected alternative. */
const INSTEAD =
  /\s(?:instead of|rather than|statt|anstelle von|anstatt|en vez de|en lugar de|plutôt que|au lieu de)\s|而不是/iu
const INSTEAD_BEFORE = /(?:ではなく|じゃなくて?)[、,]?/u

/** A part of a rule before its words are read. */
interface Part {
  readonly text: string
  readonly declined: boolean
  readonly sentence: number
}

/** An instruction of its own after *and*: "…, and ask me", "… and always keep". */
const AND_INSTRUCTION =
  /\s(?:and|und|y|et)\s+(?=(?:(?:please|then|bitte|dann|por favor|luego)\s+)?(?:ask|check with|consult|confirm|always|never|keep|make sure|ensure|use|frag|frage|immer|halte?|nutze?|verwende|benutze|achte|preg[uú]nt\p{L}+|cons[uú]lt\p{L}+|av[ií]s\p{L}+|siempre|usa|utiliza|mantén|demande|toujours|utilise|garde)(?![\p{L}]))/iu
/** The same in Japanese, after a form that joins two instructions. */
const JOINED_JAPANESE = /(?<=[てでし])、/u

/** The clauses of a rule: an alternative that is declined counts as a negated one. */
function partsOf(rule: string): Part[] {
  return rule
    .split(/(?<=[.!])\s+|(?<=[。！])/u)
    .flatMap((text, sentence) => clausesOfSentence(text).map((part) => ({ ...part, sentence })))
}

function clausesOfSentence(whole: string): Omit<Part, 'sentence'>[] {
  return whole
    .split(/(?<=[?;:])\s+|(?<=[？；：])|\s[—–]\s/u)
    .flatMap((sentence) => clausesOf(sentence))
    .flatMap((clause) => clause.split(AND_INSTRUCTION))
    .flatMap((clause) => (ASKS.test(whole) ? clause.split(JOINED_JAPANESE) : [clause]))
    .flatMap((clause) => {
      const [first = '', ...declined] = clause.split(INSTEAD)
      const [before, after] = first.split(INSTEAD_BEFORE)
      const kept =
        after === undefined
          ? [{ text: first, declined: false }]
          : [
              { text: before ?? '', declined: true },
              { text: after, declined: false },
            ]
      return [...kept, ...declined.map((text) => ({ text, declined: true }))]
    })
    .filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
}

/** A change of the form or the place of something, and not of its content. */
const OF_FORM =
  /(?<![\p{L}])(?:renam\p{L}+|mov(?:e|es|ing)|reformat\p{L}*|format(?:ting|s)?|reorder\p{L}*|umbenenn\p{L}*|verschieb\p{L}*|renombr\p{L}+|mover)(?![\p{L}])|改名|名前を変|重命名|移动/iu

/** Whether a clause is about the content of a named file: "never put secrets in config.json". */
function isOfContent({ text, actions, targets }: Clause): boolean {
  if (OF_FORM.test(text)) return true
  const isUse = actions.length > 0 && actions.every((action) => action === 'use')
  if (isUse && targets.length > 1 && targets.some(({ kind }) => kind === 'path')) return true
  if (actions.length > 0) return false
  const lower = text.toLowerCase()
  const at = Math.min(
    ...targets.map((target) => lower.indexOf(target.text.toLowerCase())).filter((index) => index >= 0),
  )
  if (!Number.isFinite(at)) return false
  const before = lower.slice(0, at)
  return (
    /(?<![\p{L}])(?:in|into|to|inside|from|im|ins|en|a|dans)\s+(?:the\s+)?[`"']?$/u.test(before) &&
    contentWords(before).some((word) => !ANY_OBJECT.has(word))
  )
}

function clauseOf({ text, declined, sentence }: Part): Clause {
  // A path is no action: `release/2024`. A command is one.
  const names = targetsOf(text, false).filter(({ kind }) => kind === 'path' || kind === 'address' || kind === 'name')
  const actions = actionsIn(names.reduce((rest, target) => rest.replaceAll(target.text, ' '), text.toLowerCase()))
  return {
    text,
    sentence,
    actions,
    targets: targetsOf(
      text,
      actions.some((action) => BRANCH_ACTIONS.has(action)) || /branch|origin|ブランチ|分支|rama/iu.test(text),
    ),
    isForbidding: declined || isNegated(text) || FORBIDS.test(text),
  }
}

/** Whether words between the action and the name limit the object: "the public methods in src/api.ts". */
function isLimited({ text, targets }: Clause): boolean {
  const lower = text.toLowerCase()
  const at = Math.min(...targets.map((target) => lower.indexOf(target.text)).filter((index) => index >= 0))
  if (!Number.isFinite(at)) return false
  const before = withoutActions(lower.slice(0, at), ' \0 ')
  const from = before.lastIndexOf('\0')
  if (from < 0) return false
  const between = before.slice(from + 1)
  return (
    /(?<![\p{L}])(?:in|of|from|inside|within|on|im|aus|von|en|de|del|dans)(?![\p{L}])/u.test(between) &&
    contentWords(between).some((word) => !ANY_OBJECT.has(word) && !/^\p{Script=Han}$/u.test(word))
  )
}

const ASKING_WORDS = new RegExp(`${ASKS.source}|${ASKS_FIRST.source}`, 'giu')

/** The words of a clause that no target and no action explains. */
function unexplained({ text, targets }: Clause): readonly string[] {
  let rest = text.toLowerCase()
  for (const { text: target } of targets) rest = rest.replaceAll(target, ' ')
  return contentWords(withoutActions(rest).replaceAll(ASKING_WORDS, ' ')).filter(
    (word) => !ANY_OBJECT.has(word) && !/^(?:prod|live|stag)/u.test(word),
  )
}

const MOST_UNSPACED = 24
/** The words of a question are longer. */
const MOST_UNSPACED_ASKED = 36

/** Whether a clause without a name speaks of the action itself: "never force-push", and not "never commit secrets". */
function isOfAction(clause: Clause, isAsked = false): boolean {
  const { text } = clause
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}]/u.test(text))
    return text.length <= (isAsked ? MOST_UNSPACED_ASKED : MOST_UNSPACED)
  return unexplained(clause).length === 0
}

/** What a rule does not name: "change nothing else in there". */
const ELSE =
  /(?<![\p{L}])(?:else|others?|the rest|sonst|andere[nrsm]?|weitere[nrsm]?|übrigen|otr[oa]s?|lo demás|el resto|d['’]autres?|le reste)(?![\p{L}])|他の|ほか|それ以外|以外|其他|其它|别的|之外/iu
/** What it names is the limit, and is allowed. */
const COMPARES =
  /(?<![\p{L}])(?:\p{L}+er than|more than|less than|above|below|beyond|größer|kleiner|höher|neuer|älter|mehr als|weniger als|oberhalb|más (?:\p{L}+ )?(?:que|de)|menos (?:\p{L}+ )?(?:que|de)|mayor(?:es)?|menor(?:es)?|superior(?:es)?|inferior(?:es)?|plus (?:\p{L}+ )?(?:que|de))(?![\p{L}])|より(?:大き|小さ|新し|古|上|下|多|少な)|以上の|以下の|超える|超过|超過|大于|小于|高于|低于|比.{1,20}(?:大|小|新|旧|高|低|多|少)/iu
const OF_TEXT: ReadonlySet<Action> = new Set(['change', 'delete', 'read', 'commit', 'merge'])

/** To migrate a named table is to change it. */
const onObject = (actions: readonly Action[]): readonly Action[] =>
  actions.includes('migrate') ? [...new Set([...actions, 'change' as const])] : actions

/** Whether a clause names what is allowed, after *only*: "only as a draft", and not "orders may only be read". */
function isAllowedOnly({ text, isForbidding, targets }: Clause): boolean {
  const rest = ONLY.exec(text)
  if (rest === null || isForbidding) return false
  const after = text.slice(rest.index).toLowerCase()
  return targets.every((target) => after.includes(target.text.toLowerCase()))
}

/** The condition of a clause that forbids; a text if it cannot be read. */
function forbidding(clause: Clause, before: readonly Clause[], isAsked: boolean): Condition | string {
  const { targets, actions } = clause
  if (targets.length > 0) {
    if (COMPARES.test(clause.text)) return 'it is about more, or less, than it names'
    if (isLimited(clause) || isOfContent(clause)) return 'it is about a part of what it names'
    return { kind: 'forbid', actions: onObject(actions), targets }
  }
  if (ELSE.test(clause.text)) return 'it is about all that it does not name'
  // "The payouts table is off limits: no writes to it."
  const last = before.findLast((each) => each.targets.length > 0 && !isAllowedOnly(each))
  const isAct = actions.length > 0 || FORBIDS.test(clause.text)
  if (last !== undefined && isAct && (last.isForbidding || isReference(clause.text)))
    return { kind: 'forbid', actions: onObject(actions), targets: last.targets }
  const areas = areasOf(clause.text)
  if (areas.length > 0 && actions.includes('delete') && isOfAction(clause))
    return { kind: 'forbid', actions: ['delete'], targets: areas }
  // "Do not edit a migration" is about its text.
  const isOfText = actions.some((action) => OF_TEXT.has(action))
  const telling = actions.filter(
    (action) => TELLING.has(action) && !((action === 'migrate' || action === 'install') && isOfText),
  )
  if (telling.length > 0 && isOfAction(clause, isAsked)) return { kind: 'forbid', actions: telling, targets: [] }
  return 'it names nothing that a call shows'
}

const REFERS =
  /(?<![\p{L}])(?:it|its|that|those|these|them|there|this (?:file|folder|table|one)|darin|dort|daran|davon|die|das|diese[rnsm]?|ihn|allí|ahí|lo|la|los|las|eso|esa|ese)(?![\p{L}])|それ|そこ|これ|它|那里|这里|里面|其/iu
const MOST_UNSPACED_REFERENCE = 10

/** Whether a text says "it" or "there" of something that it does not name. */
export const isReference = (text: string): boolean =>
  REFERS.test(text) ||
  (/^[\p{Script=Han}\p{Script=Hiragana}。，、]+$/u.test(text.trim()) && text.trim().length <= MOST_UNSPACED_REFERENCE)

const MONEY =
  /[$€£¥]\s?(\d[\d,.]*)|(\d[\d,.]*)\s?(?:[$€£¥%円元]|(?:usd|eur(?:os?)?|dollars?|pounds?|dólares|percent|prozent|por ciento)(?!\p{L}))/giu

/** The amount of a rule: the one with a currency or a percent sign; undefined without one, or with several. */
function numberOf(text: string): number | undefined {
  const numbers = Array.from(text.matchAll(MONEY), ([, before = '', after = '']) => (before === '' ? after : before))
  const [first] = numbers
  if (first === undefined || numbers.length > 1) return undefined
  const plain = /[.,]\d{3}(?!\d)/u.test(first) ? first.replaceAll(/[.,](?=\d{3})/gu, '') : first.replace(',', '.')
  const value = Number(plain.replace(/[.,]$/u, ''))
  return Number.isFinite(value) ? value : undefined
}

/** The language that a rule names first: "answer in English even when the data is German". */
export const firstLanguage = (rule: string): Language | undefined =>
  LANGUAGES.map(([language, pattern]) => ({ language, at: rule.search(pattern) }))
    // "Reply to German customers" says nothing about the language.
    .filter(
      ({ at }) =>
        at >= 0 &&
        (/(?<![\p{L}])(?:in|auf|en|em|into|to me in)\s*$/iu.test(rule.slice(0, at)) ||
          /[\p{Script=Han}\p{Script=Katakana}\p{Script=Hangul}]/u.test(rule.slice(at, at + 1))),
    )
    .toSorted((a, b) => a.at - b.at)[0]?.language

/** The conditions of a whole rule that are no prohibitions of a clause. */
function wholeConditions(rule: string, clauses: readonly Clause[]): Condition[] {
  const conditions: Condition[] = []
  const language = ANSWERS.test(rule) && !isNegated(rule) ? firstLanguage(rule) : undefined
  if (language !== undefined) conditions.push({ kind: 'language', language })
  const actions = actionsIn(rule)
  const most = numberOf(rule)
  const isMoney =
    actions.includes('pay') ||
    /[$€£¥円元]|(?<![\p{L}])(?:usd|eur(?:os?)?|dollars?|pounds?|dólares|euros)(?![\p{L}])/iu.test(rule)
  if (isMoney && CAPS.test(rule) && most !== undefined) {
    const isPercent = /%|percent|prozent|por ciento|パーセント/iu.test(rule)
    conditions.push({ kind: 'cap', action: 'pay', most, isPercent, subject: contentWords(rule) })
  }
  const targets = clauses.flatMap((clause) => clause.targets)
  const commands = targets.filter(({ kind }) => kind === 'command')
  // "Run make check before each push. If it fails, no push."
  const isNamedForbidden = clauses.some((clause) => clause.isForbidding && clause.targets.length > 0)
  if (BEFORE.test(rule) && commands.length > 0 && !isNamedForbidden) {
    const trigger = actions.find((action) => ['commit', 'push', 'deploy', 'publish', 'merge'].includes(action))
    const needs = commands.filter(({ text }) => !text.startsWith('git '))
    if (trigger !== undefined && needs.length > 0) conditions.push({ kind: 'first', action: trigger, commands: needs })
  }
  return [...conditions, ...flagged(rule, clauses)]
}

/** Of all calls, and not of one. */
const EACH =
  /(?<![\p{L}])(?:all|every|each|whenever|always|only|alle[nrs]?|jede[nmrs]?|immer|nur|wenn du|tod[oa]s|cada|siempre|s[oó]lo|cuando|tou(?:s|tes)|chaque|toujours)(?![\p{L}])|すべて|全て|毎回|必ず|だけ|のみ|ときは|所有|全部|每次|一律|只|时/iu
const ALL =
  /(?<![\p{L}])(?:all|every|each|alle[nrs]?|jede[nmrs]?|tod[oa]s|cada|tou(?:s|tes)|chaque)(?![\p{L}])|すべて|全て|毎回|所有|全部|每次|一律/iu
const FLAGGED: ReadonlySet<Action> = new Set(['install', 'commit', 'push', 'merge'])

/** The flags that calls must have: "only with --quick", "(gh pr create --draft)". */
function flagged(rule: string, clauses: readonly Clause[]): Condition[] {
  if (ASKS.test(rule)) return []
  return clauses.flatMap((clause, at): Condition[] => {
    if (clause.isForbidding) return []
    const near = [clause, ...clauses.slice(at - 1, at).filter(({ isForbidding }) => !isForbidding)]
    const all = near.flatMap(({ targets }) => targets)
    const flag = clause.targets.find(({ kind }) => kind === 'flag')
    if (flag === undefined) return ALL.test(rule) ? clause.targets.flatMap(flagsOfCommand) : []
    const command =
      all.find(({ kind }) => kind === 'command') ??
      all.find(isProgram) ??
      programOfProduct(near.map(({ text }) => text).join(' '))
    if (command !== undefined) return [{ kind: 'with', command, flag }]
    const action = near.flatMap(({ actions }) => actions).find((each) => FLAGGED.has(each))
    return action === undefined || !EACH.test(rule) ? [] : [{ kind: 'with', action, flag }]
  })
}

/** The flags in a command that is to be used. Without them it is at least a program and its subcommand. */
function flagsOfCommand({ kind, text }: Target): Condition[] {
  if (kind !== 'command') return []
  const words = text.split(/\s+/u)
  const command = words.filter((word) => !word.startsWith('-'))
  if (command.length < 2) return []
  return words
    .filter((word) => /^--?[a-z]/iu.test(word) && !/force/u.test(word))
    .map((word) => ({
      kind: 'with',
      command: { kind: 'command', text: command.join(' ') },
      flag: { kind: 'flag', text: word },
    }))
}

/** "Use pnpm": the other programs of its family are not used. */
function family(clauses: readonly Clause[]): Condition[] {
  return clauses.flatMap((clause) => {
    if (clause.isForbidding || !clause.actions.includes('use')) return []
    const programs = clause.targets.filter(isProgram).map(({ text }) => text)
    const others = FAMILIES.find((names) => programs.length === 1 && names.includes(programs[0] ?? ''))?.filter(
      (name) => !programs.includes(name),
    )
    return others === undefined
      ? []
      : [
          {
            kind: 'forbid' as const,
            actions: ['use' as const],
            targets: others.map((text) => ({ kind: 'name' as const, text })),
          },
        ]
  })
}

const CLOCK = String.raw`(\d{1,2})(?::(\d{2}))?\s*(am|pm|uhr|時|点|h)?`
const BETWEEN = new RegExp(
  String.raw`(?:between|from|zwischen|von|entre(?: las)?|de las?)\s*${CLOCK}\s*(?:and|to|until|till|bis|und|y(?: las)?|a(?: las)?|–|-|から|到|至)\s*${CLOCK}`,
  'iu',
)
const AFTER = new RegExp(String.raw`(?:after|from|nach|ab|después de(?: las)?|a partir de las?)\s+${CLOCK}`, 'iu')
const BEFORE_TIME = new RegExp(String.raw`(?:before|until|vor|bis|antes de(?: las)?)\s+${CLOCK}`, 'iu')
const WEEKDAY =
  /(?<![\p{L}])(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|wochenende|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)(?![\p{L}])|曜|周[一二三四五六日末]|星期|週末/iu
const UTC = /(?<![\p{L}])(?:utc|gmt)(?![\p{L}])/iu

function minuteOf([hours = '', minutes = '', half = '']: readonly (string | undefined)[]): number | undefined {
  const hour =
    Number(hours) + (/pm/iu.test(half) && Number(hours) < 12 ? 12 : 0) - (/am/iu.test(half) && hours === '12' ? 12 : 0)
  const minute = hour * 60 + Number(minutes === '' ? 0 : minutes)
  return hours === '' || minute > 24 * 60 ? undefined : minute % (24 * 60)
}

/** The window of a rule that names UTC: of another time zone, the times of calls say nothing. */
function windowOf(rule: string, clauses: readonly Clause[]): Condition | undefined {
  // Of a day of the week in another time zone, the times of calls say nothing.
  if (!UTC.test(rule) || WEEKDAY.test(rule)) return undefined
  const [between, after, before] = [BETWEEN.exec(rule), AFTER.exec(rule), BEFORE_TIME.exec(rule)]
  const from = between !== null ? minuteOf(between.slice(1, 4)) : after !== null ? minuteOf(after.slice(1, 4)) : 0
  const to = between !== null ? minuteOf(between.slice(4, 7)) : before !== null ? minuteOf(before.slice(1, 4)) : 24 * 60
  if (from === undefined || to === undefined || (between ?? after ?? before) === null) return undefined
  const all = actionsIn(rule)
  const telling = all.filter((action) => TELLING.has(action))
  const targets = clauses.flatMap((clause) => clause.targets).filter(({ text }) => !/^(?:utc|gmt)$/u.test(text))
  if (telling.length === 0 && targets.length === 0) return undefined
  const isForbidden = clauses.some(
    ({ text, isForbidding }) =>
      isForbidding && (BETWEEN.test(text) || AFTER.test(text) || BEFORE_TIME.test(text)) && !ONLY.test(text),
  )
  return {
    kind: 'window',
    actions: telling.length > 0 ? telling : all,
    targets: telling.length > 0 ? [] : targets,
    from,
    to,
    isAllowed: !isForbidden,
  }
}

const ONLY_ACTIONS: ReadonlySet<Action> = new Set(['push', 'commit', 'deploy', 'send', 'publish', 'merge'])

/** A longer text is cut here. */
const MOST_RULE = 2_000

/** Reads a rule. */
export function readRule(given: string): ReadRule {
  const rule = given.slice(0, MOST_RULE)
  const clauses = partsOf(rule).map(clauseOf)
  const conditions: Condition[] = wholeConditions(rule, clauses)
  const reasons: string[] = []
  if (LEAVES_OUT.test(rule)) return { conditions: [], unjudged: 'it says what is not to be left out' }
  if (UNASKED.test(rule) && !isNegated(rule.replace(UNASKED, ' '))) return { conditions: [], unjudged: 'it permits' }
  if (FOR_ONE_TASK.test(rule)) return { conditions: [], unjudged: 'it applies to one piece of work' }
  const asked = askedClauses(clauses)
  const window = windowOf(rule, clauses)
  if (window !== undefined) return { conditions: [window] }
  if (conditions.length === 0 && (TIMES.test(rule) || WEEKDAY.test(rule)))
    return { conditions: [], unjudged: 'it names a time, and calls do not have the time zone' }
  for (const [at, clause] of clauses.entries()) {
    const before = clauses.slice(0, at)
    const isOnly = ONLY.test(clause.text)
    const asks = asked.has(clause)
    if (isOnly && clause.targets.length > 0 && !asks) {
      const action = [...clause.actions, ...before.flatMap(({ actions }) => actions)].find((each) =>
        ONLY_ACTIONS.has(each),
      )
      const paths = clause.targets.filter(({ kind }) => kind === 'path')
      // A channel or a mailbox is no place to deploy or to push to.
      const isPlace = action === 'send' || clause.targets.some(({ kind }) => kind !== 'address')
      if (action !== undefined && isPlace) conditions.push({ kind: 'only', action, targets: clause.targets })
      else if (clause.actions.includes('change') && paths.length === clause.targets.length)
        conditions.push({ kind: 'only', action: 'change', targets: paths })
      continue
    }
    const isAsking =
      asks && (clause.targets.length > 0 || clause.actions.some((action) => TELLING.has(action) || action === 'delete'))
    if (!clause.isForbidding && !isAsking) continue
    if (WITHOUT.test(clause.text) && !asks) {
      reasons.push('it depends on what is done with it')
      continue
    }
    if (CONDITIONAL.test(clause.text) && !asks) {
      reasons.push('it depends on a condition')
      continue
    }
    if (clause.targets.length === 0 && conditions.some(({ kind }) => kind === 'first')) continue
    const condition = forbidding(clause, before, asks)
    if (typeof condition === 'string') reasons.push(condition)
    else conditions.push(condition)
  }
  const all = conditions.length > 0 ? conditions : family(clauses)
  if (all.length > 0) return { conditions: all }
  return { conditions: toolsOf(clauses, asked), unjudged: reasons[0] ?? 'it names nothing that a call shows' }
}

/** The tools that a rule without a name may be about, by its words. */
function toolsOf(all: readonly Clause[], asked: ReadonlySet<Clause>): Condition[] {
  // Of two sentences, only one may forbid.
  const decisive = new Set(
    all.filter((clause) => clause.isForbidding || asked.has(clause)).map(({ sentence }) => sentence),
  )
  const clauses = all.filter((clause) => decisive.has(clause.sentence) && !isAllowedOnly(clause))
  if (clauses.length === 0 || clauses.some(({ text }) => CONDITIONAL.test(text) && !ASKS.test(text))) return []
  const words = new Set(clauses.flatMap(({ text }) => contentWords(text)))
  return words.size === 0
    ? []
    : [{ kind: 'tool', words: [...words], actions: clauses.flatMap(({ actions }) => actions) }]
}
