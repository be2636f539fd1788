/**
 * Sentences that state a rule for the work of the other speaker: an obligation, a prohibition, or a preference about how
 * the work is done. The form decides, and not a word alone: "never" is in rules and in memories ("I never thought…"),
 * "must" in rules and in guesses ("you must be proud"), "don't" in rules and in comfort ("don't worry").
 *
 * The working state and the reports on compactions go by this, and the sections of the extractive strategy too; its
 * choice of sentences goes by `isConstraint`.
 */

interface Rule {
  /** The words of the rule, each match of them in the sentence. */
  readonly words: RegExp
  /** The words are an imperative: they begin a clause. */
  readonly opens?: true
  /** If it matches the text before the words, the sentence is a story or a guess. */
  readonly unless?: RegExp
}

// The sentences are in lower case: V8 takes twice as long to compile a class of letters that ignores case.
const whole = (source: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, 'gu')
const order = (source: string): Rule => ({ words: whole(source), opens: true })
const anywhere = (source: string, unless?: RegExp): Rule => ({
  words: whole(source),
  ...(unless === undefined ? {} : { unless }),
})
const written = (words: RegExp, unless?: RegExp): Rule => ({ words, ...(unless === undefined ? {} : { unless }) })

/** Words of politeness between the beginning of a clause and its imperative. */
const POLITE = /(?:(?<![\p{L}\p{N}])(?:please|pls|bitte|por favor|per favore|пожалуйста),?\s+)+$/u
/** The end of a text after which a clause begins. */
const CLAUSE_BEGINS =
  /(?:[.!?:;,—–("“”„«`]|^[^\p{L}]*|\s[-*•]|(?:^|\s)(?:so|then|just|instead|if possible|also bitte|donc|pues))\s*$/u
/** A word that joins two clauses: the second is an imperative if the first has no subject. */
const JOINS = /(?:^|\s)(?:and|but|or|also|and also|und|aber|et|mais|y|pero|e|ma|mas|и|но|а)\s+$/u
const SUBJECT =
  /(?<![\p{L}\p{N}])(?:i|we|he|she|they|it|who|that|my|our|ich|wir|er|sie|je|nous|elle|yo|io|eu|я|мы|он|она)(?:['’]\p{L}+)?(?![\p{L}\p{N}])/u
/** The speaker, or the people of a story. */
const OF_A_STORY = /(?<![\p{L}\p{N}])(?:i|we|he|she|they|my|our|his|her)(?:['’]\p{L}+)?(?![\p{L}\p{N}])/u

/** Verbs that follow *do not* without a rule: comfort, and sentences whose subject is left out. */
const COMFORT = String.raw`worry|fret|stress|hesitate|mention|mind|know|think|have|feel|see|remember|care|give up|lose (?:hope|heart)|be (?:too |so )?(?:afraid|sad|shy|hard on|sorry|scared|upset|nervous)|get me wrong|beat yourself|sweat|miss|you|we|they|i|it|let (?:it|that|them|anyone|anything)|want|need|like|blame|cry|believe|fear|(?:ever )?quit|underestimate`
/** Words after *never* and *always* that are no imperative. */
const NO_IMPERATIVE = String.raw`(?!proceed|need|feed|embed|exceed|succeed|bring|sing)\p{L}+(?:ed|ing)|been|be sure|a|an|the|had|have|has|was|were|is|are|in|on|at|for|with|to|so|too|too\p{L}*|this|that|it|i|my|mind|thought|knew|saw|went|got|felt|seen|done|gone|heard|good|nice|great|fun|happy|glad|here|there|up|down|one|ever|again|really|quite|just|more|less|know|feel|remember|enough|full|about|after|all|also|as|amazing|another|around|away|\p{L}+(?<![su])s`

/** Words after *must be* in a guess about a feeling or an event. */
const GUESSED = String.raw`(?:all |just |also |all the |truly )?(?:really|so|such|quite|still|very|pretty|super|extremely|absolutely|amazing|incredible|awesome|exciting|excited|rewarding|great|nice|hard|tough|difficult|fun|wonderful|fantastic|beautiful|proud|thrilled|stoked|crazy|happy|lovely|cool|an? (?:great|amazing|incredible|wonderful|nice|huge|lot|real|special)|\p{L}+ing(?! used))`
const GUESSING = /(?:^|[,.!?;]\s*|(?<![\p{L}\p{N}])(?:i|it|that|this|he|she|they|there|we)\s+(?:all\s+)?)$/u

const ENGLISH: readonly Rule[] = [
  // Prohibitions and orders without a subject.
  order(String.raw`(?:do not|don['’]?t)\s+(?:ever\s+)?(?!(?:${COMFORT})(?![\p{L}\p{N}]))[\p{P}\p{S}]?\p{L}+`),
  order(String.raw`(?:never|always)\s+(?!(?:${NO_IMPERATIVE})(?![\p{L}\p{N}]))\p{L}+`),
  order(
    'only (?:use|run|edit|change|touch|write|answer|reply|show|add|modify|commit|read|output|return|include|call|ask|do|make|keep|list|test)',
  ),
  order(
    String.raw`make sure|ensure|be sure (?:to|that) (?!tell)|avoid|refrain from|stick to|do without|limit (?:it|the|each|your)`,
  ),
  anywhere('please (?:use|keep|stick to|limit|write|format|answer|respond|reply)'),
  // Obligations. A guess has a pronoun, or no subject, or speaks of a feeling.
  anywhere(
    String.raw`must(?:n['’]t)?(?!['’]ve)(?!\s+have (?:been|\p{L}+ed|done|gone|felt|taken|had|made|known|seen|got|come|meant|thought|found|cost|put|been)(?![\p{L}\p{N}]))(?!\s+(?:feel|of|say|admit|see|read|watch|try|visit)(?![\p{L}\p{N}]))(?!\s+be ${GUESSED}(?![\p{L}\p{N}]))(?!\s*(?:[.!,]|$))`,
    GUESSING,
  ),
  anywhere(
    String.raw`(?:should|shall|you may) [_*]*(?:never|always|only|not)|(?:you|we|it|this|that) shouldn['’]t(?! have to)`,
    /(?<![\p{L}\p{N}])why\s+$/u,
  ),
  anywhere(
    '(?:is|are|be) (?:strictly |always |absolutely )?(?:required(?! to know)|mandatory|forbidden|prohibited|not allowed|not permitted)|under no circumstances|can only (?:be|use|have)',
  ),
  anywhere(
    String.raw`(?<!(?:it|that|this|there) )(?:has|have|needs?) to (?:always |all |only )?(?:keep|stay|remain|preserve|support|work (?:with|on|in|without)|be (?:kept|done|finished|ready|delivered|signed|approved|reviewed|compatible|the same|backwards?|in [a-z]+ order))`,
    /(?<![\p{L}\p{N}])(?:i|we|he|she|they|you|who|that|it|people|kids|children|why|(?:my|his|her) \p{L}+(?:['’]s \p{L}+)?)(?:['’]\p{L}+)?(?:\s+(?:still|just|really|also|always|will|would))?\s*$/u,
  ),
  // Limits, as far as they are not those of a story.
  anywhere(
    String.raw`(?:at most|at least|no (?:more|fewer|less|later|longer) than|not more than|a maximum of) (?:\$?\d\S*|one|two|three|four|five|six|ten|a (?:single|hundred))`,
    OF_A_STORY,
  ),
  // Preferences about the work.
  anywhere(
    String.raw`i(?:['’]d| would)? (?:really |much )?prefer[^.!?]{1,120}?(?<![\p{L}\p{N}])(?:over|instead of|rather than|to use|using|that you|you to|if you|you)`,
  ),
  anywhere(
    String.raw`i(?:['’]d| would) rather (?:you|that you|not have)|i (?:do not|don['’]?t) want (?:you|any|it to|this to|the \p{L}+ to|to (?:modify|change|touch|add|use|break|rewrite|remove|install))`,
  ),
]

const GERMAN: readonly Rule[] = [
  order(
    String.raw`(?:niemals|nie(?! wieder| zuvor| mehr)|immer(?! noch| wenn| wieder| mehr)|nur|auf keinen fall|unbedingt) (?:\S+ ){0,8}?\p{Ll}{3,}e?n`,
  ),
  anywhere(
    String.raw`bitte (?:nicht|keine?n?|nur|immer|nie(?:mals)?)|vermeide|stell(?:e|en)? (?:bitte )?sicher|acht(?:e|en sie)? (?:bitte )?darauf|(?:verwende|benutze|nutze|ändere|schreibe?|lösche?) (?:\S+ ){0,4}?(?:nie(?:mals)?|nicht|nur|immer|keine?n?)`,
  ),
  // "Das muss schön gewesen sein" is a guess, "ich muss los" the speaker's own matter.
  anywhere(
    String.raw`(?:muss|müssen|musst|darf|dürfen|darfst)(?! (?:ich|wir)(?![\p{L}\p{N}]))(?!(?: \S+){0,6} (?:gewesen|sein[.!]|haben[.!]))`,
    /(?<![\p{L}\p{N}])(?:ich|das|es|er|sie|wir)\s+$/u,
  ),
  anywhere(
    String.raw`(?:ist|sind) (?:verboten|nicht erlaubt|untersagt|pflicht)|ich bevorzuge [^.!?]{1,120}? (?:statt|anstelle|gegenüber)|ich möchte(?: nicht)?, dass du`,
  ),
]

const FRENCH: readonly Rule[] = [
  order(
    String.raw`(?:ne |n['’])(?!(?:t['’])?(?:inquiè|inquié|hésit|oubli))\p{L}+ (?:\S+ )?(?:pas|jamais|plus|aucun\p{L}*)`,
  ),
  order(String.raw`(?:toujours|jamais) \p{L}+(?:er|ir|re|ez)`),
  order('évite[zr]?|veille[zr]? à|assure-toi|assurez-vous|utilise[zr]? (?:toujours|uniquement|seulement)'),
  anywhere(
    String.raw`il (?:ne )?faut|(?:il est|c['’]est) (?:strictement )?interdit|(?:tu|vous|on) (?:ne )?(?:dois|devez|doit)(?! être| avoir)`,
  ),
  anywhere(
    '(?:doit|doivent)(?! être (?:si|très|bien|super)| avoir)',
    /(?<![\p{L}\p{N}])(?:ça|il|elle|cela|on)\s+(?:ne\s+)?$/u,
  ),
  anywhere('je préfère [^.!?]{1,120}? (?:plutôt que|à la place|au lieu)|je (?:ne )?veux (?:pas )?que (?:tu|vous)'),
]

const SPANISH_AND_PORTUGUESE: readonly Rule[] = [
  // English has "no worries" and "no uses": another word has to be Spanish.
  order(
    String.raw`no (?!(?:sabes|puedes|tienes|crees|quieres|eres|es|ves|te preocupes|olvides|más|pues|entonces|antes|menos|veces)(?![\p{L}\p{N}]))(?:l[aeo]s? )?\p{L}{2,}(?:as|es|áis|éis) (?=(?:\S+ ){0,3}?(?:el|la|los|las|en|un|una|del|de|con|para|tu|este|esta|estos|estas|ese|esa|nada|ningún|ninguna)(?![\p{L}\p{N}]))\S+`,
  ),
  order(
    String.raw`(?:nunca|jamás|siempre|sempre) (?!(?:me|te|le|lo|la|los|nos|se|he|ha|había|fue|es|está|que|más|quise|pensé|foi|gostei|quis|pensei|amei|um|uma|un|una)(?![\p{L}\p{N}]))\p{L}+(?<!é|ó|ei|ou|aba|ía|ava|ia|amos)`,
  ),
  order('asegúrate|asegúrese|evit[ae]r?|certifique-se|garanta|solo usa|usa (?:solo|sólo|siempre)'),
  anywhere('hay que|(?:está|queda) prohibido|(?:é|está) proibido'),
  anywhere(
    String.raw`(?:debes|debe|deben|debéis|devem|deve)(?= \p{L}+[aei]r(?![\p{L}])| (?:no|nunca|siempre|sempre|não))(?! haber| estar (?:muy|tan)| ser (?:muy|tan|muito)| ter )`,
    /(?<![\p{L}\p{N}])(?:yo|eu)\s+$/u,
  ),
  anywhere(
    'prefiero [^.!?]{1,120}? (?:en vez de|en lugar de|antes que)|prefiro [^.!?]{1,120}? (?:em vez de|ao invés)|(?:no )?quiero que',
  ),
  order('não (?:use|altere|mude|apague|remova|toque|escreva|modifique|faça|inclua|adicione|envie)'),
]

const ITALIAN: readonly Rule[] = [
  order(String.raw`non (?!preoccupar|dimenticar)\p{L}+(?:are|ere|ire)`),
  order('assicurati|evita(?:re)?|usa (?:solo|sempre)'),
  anywhere(
    'è vietato|bisogna|(?:devi|dovete|devono)(?! essere (?:molto|così))|preferisco [^.!?]{1,120}? (?:invece di|piuttosto che)',
  ),
]

const RUSSIAN: readonly Rule[] = [
  order(
    String.raw`(?:никогда )?не (?!(?:волнуй|переживай|бойся|грусти|стесняй|забывай|за что|могу|хочу|знаю|очень|только)\p{L}*)\p{L}+(?:й|йте|йся|йтесь|ь|ьте|и|ите)`,
  ),
  order(String.raw`(?:всегда|обязательно|только) \p{L}+(?:й|йте|ь|ьте|и|ите)(?<!ть|ли)`),
  anywhere(String.raw`нельзя|запрещ[её]н\p{L}*|убедись|убедитесь|избегай(?:те)?`),
  anywhere('(?:должен|должна|должно|должны)(?! быть)', /(?<![\p{L}\p{N}])я\s+$/u),
  anywhere('предпочитаю [^.!?]{1,120}? (?:вместо|а не)|(?:не )?хочу, чтобы (?:ты|вы)'),
]

/** The speaker, and the adverbs between the speaker and a verb. */
const CHINESE_SPEAKER = /[我他她咱][们們]?(?:也|就|都|真的|现在|現在|想|需|还|還)?$/u

const CHINESE: readonly Rule[] = [
  written(/(?:必须|必須)(?!说|說|承认|承認|离开|離開)/gu, CHINESE_SPEAKER),
  written(/务必|務必|请勿|請勿|切勿|禁止|严禁|嚴禁|不许|不許|不得(?!不|了|已)|不准/gu),
  written(
    /(?:不要|千万别|千萬別)(?!担心|擔心|紧|緊|客气|客氣|忘|难过|難過|放弃|放棄|太|气|急|怕|伤心|着急|灰心|勉强|给自己|害怕|想太)/gu,
    /(?:[我他她][们們]?(?:也|就|都|想)?|要|想)$/u,
  ),
  written(/(?:只能|不能)(?=用|使用|改|修改|写|寫|删|刪|超过|超過|包含|直接|出现|少于)/gu, CHINESE_SPEAKER),
  written(
    /(?:一定要|始终|始終)(?=用|使用|保持|写|寫|运行|測試|测试|先|遵|按)|(?:请|請)(?:只|始终|始終|保持|确保|確保|使用|一律)/gu,
    CHINESE_SPEAKER,
  ),
  written(/(?:确保|確保|避免)/gu, /[^，。；,;\s]$/u),
  written(/(?:最多|至少)(?=\s*[\d一二三四五六七八九十百])/gu, /我[^，。！？]{0,20}$/u),
  written(/(?:喜欢|傾向|倾向)[^，。！？]{1,30}而不是/gu),
]

const JAPANESE_SPEAKER = /(?:私|僕|俺)[^。！？]{0,40}$/u

const JAPANESE: readonly Rule[] = [
  written(/[しかがさたなばまらわ]ないで(?:ください|下さい|ほしい|欲しい)/gu, /(?:心配|気に|無理|遠慮|忘れ)$/u),
  written(/ては(?:いけ|なら|だめ|ダメ)|では(?:いけ|なら)|禁止|べから[ずく]/gu, JAPANESE_SPEAKER),
  written(/(?:必ず|常に|絶対に)[^。！？]{0,60}?(?:ください|下さい|こと|ように|する(?=[。]?$)|しろ|せよ|ない[で。])/gu),
  written(/(?:なければ|なくては)(?:なら|いけ)/gu, JAPANESE_SPEAKER),
  written(/(?:べき|べし)(?:だ|です|では|(?=。|$))|(?:ない|る)こと[。．]?$/gu, JAPANESE_SPEAKER),
  written(
    /(?:を使って|にして|で書いて|だけにして|のみにして|以内にして|で答えて)(?:ください|下さい|ほしい)|より[^。！？]{1,30}?(?:ほうが|方が)(?:いい|良い|好み)(?:です)?[。]?$/gu,
  ),
]

const KOREAN_SPEAKER = /(?:저는|나는|내가|제가|우리는)[^.!?]{0,40}$/u

const KOREAN: readonly Rule[] = [
  written(/(?:하|쓰|지우|바꾸|만들|건드리|넣|고치)지 ?(?:마|말)|금지/gu, /(?:걱정|염려|포기|부담 ?갖)$/u),
  written(
    /(?:반드시|항상|꼭|절대로?)[^.!?]{0,60}?(?:세요|십시오|할 ?것|해 ?줘|해라|마라|말 ?것|해야)/gu,
    KOREAN_SPEAKER,
  ),
  written(
    /해야 ?(?:합니다|한다|해요|됩니다|함)|(?:만|으로만) ?(?:사용|써)|(?:이하|이내)로 ?(?:해|작성|제한)|보다 [^.!?]{1,30}?(?:선호|더 좋)/gu,
    KOREAN_SPEAKER,
  ),
]

/** The rules of each script. A text without letters of a script states none of its rules. */
const RULES: readonly { readonly letters: RegExp; readonly rules: readonly Rule[] }[] = [
  { letters: /[a-z]/u, rules: [...ENGLISH, ...GERMAN, ...FRENCH, ...SPANISH_AND_PORTUGUESE, ...ITALIAN] },
  { letters: /\p{Script=Cyrillic}/u, rules: RUSSIAN },
  { letters: /\p{Script=Han}/u, rules: CHINESE },
  { letters: /[\p{Script=Han}\p{Script=Hiragana}]/u, rules: JAPANESE },
  { letters: /\p{Script=Hangul}/u, rules: KOREAN },
]

/** Advice for a life, and not for a piece of work. */
const ADVICE = whole(
  String.raw`yourself|yourselves|take care|your (?:heart|dreams?|passions?|mind|family|body|kids|health|values|own pace|loved ones|spirits?|support|journey)|enjoy|have fun|relax|rest up|breathe?|self-care|give up|be proud|good luck|stay (?:strong|positive|safe)|little things|keep (?:going|pushing|it up|up|shining)|every step|happiness|joy|emotional\p{L}*|must-(?:have|see|read|try|watch)|check (?:it|them|that|this) out|let me know|you['’]re not alone|dich selbst|pass auf dich auf|prends soin|cuídate`,
)
/** The title of a commit reports finished work. */
const COMMIT = /(?:^|\s)(?:fix|feat|chore|docs?|tests?|refactor|perf|build|ci|style)(?:\([^)]*\))?!?: /u
const ASKED = /[?？؟]\s*$|(?:吗|呢|么|嘛|です ?か|ます ?か|でしょうか|까요?|나요|니까)[。.!！\s]*$/u
/** An introduction of the next lines, or a tag. */
const NO_SENTENCE = /[:：]\s*$|^\s*<[^>]*>\s*$/u

/** Whether a clause begins where this text ends, so that an imperative may follow. */
function opensClause(before: string): boolean {
  const text = before.replace(POLITE, '')
  return CLAUSE_BEGINS.test(text) || (JOINS.test(text) && !SUBJECT.test(text))
}

const isStated = ({ words, opens, unless }: Rule, sentence: string): boolean =>
  // `search` leaves the expression as it is; `matchAll` copies it, which costs more than most searches.
  sentence.search(words) >= 0 &&
  Array.from(sentence.matchAll(words)).some(({ index }) => {
    const before = sentence.slice(0, index)
    return (opens === undefined || opensClause(before)) && unless?.test(before) !== true
  })

/** Whether a sentence states a rule for the work of the other speaker. */
export function statesRule(sentence: string): boolean {
  if (ASKED.test(sentence) || NO_SENTENCE.test(sentence)) return false
  const text = sentence.toLowerCase()
  return (
    RULES.some(({ letters, rules }) => letters.test(text) && rules.some((rule) => isStated(rule, text))) &&
    !COMMIT.test(text) &&
    text.search(ADVICE) < 0
  )
}
