/** Sentences that state no rule whatever their words: advice, questions, quotations, reports of errors, irony, facts. */
const whole = (source: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, 'u')

/** Advice for a life, and not for a piece of work. */
const ADVICE = whole(
  String.raw`(?:to|of|for|in|with|on|about|push|give|be|treat|take|let|allow|remind|surround|forgive|express|challenge|find|reward|pace|make) (?:yourself|yourselves)|take care(?! (?:that|to))|your (?:heart|dreams?|passions?|mind|family|body|kids|health|values|own pace|loved ones|spirits?|support|journey)|enjoy|have fun|relax|rest up|breathe?|self-care|(?:never|don['’]?t|not|won['’]t) (?:ever )?give up|give up on|be proud|good luck|stay (?:strong|positive|safe)|little things|keep (?:going|pushing|it up|up|shining)|every step|(?:ensure|make sure|be sure|ensure that|sure that)(?: that)? (?:you(?:r|['’]re)?|to|users can|objects?|the probability|no other applications|at least one|you['’]re|they) ?\p{L}*|gracefully|appropriately|effectively|efficiently|ergonomic\p{L}*|premature optimization|white space|where possible|as closely as possible|achievements|interview\p{L}*|happiness|joy|emotional\p{L}*|must-(?:have|see|read|try|watch)|check (?:it|them|that|this) out|let me know if|feel free|you['’]re not alone|dich selbst|pass auf dich auf|prends soin|cuídate`,
)
/** The title of a commit reports finished work. */
const COMMIT = /(?:^|\s)(?:fix|feat|chore|docs?|tests?|refactor|perf|build|ci|style)(?:\([^)]*\))?!?: /u
const ASKED = /[?？؟]\s*$|(?:吗|呢|么|嘛|です ?か|ます ?か|でしょうか|까요?|나요|니까)[。.!！\s]*$/u
/** A question before the last words of a sentence: "…, is that the part you mean?" is one too. */
const ASKED_INSIDE = /^[^.!。！]*¿|^¿/u
/** An introduction of the next lines, or a tag. */
const NO_SENTENCE = /[:：]\s*$|^\s*<[^>]*>\s*$/u
/** An error as a program reports it. */
const ERROR =
  /(?<![\p{L}\p{N}])(?:(?:error|fatal|exception|fehler|erreur)(?: \S{1,12})?|zugriff verweigert|access denied|permission denied|acceso denegado|traceback)\s*[:：.](?=\s)|(?:エラー|报错|報錯)[^。]{0,8}[:：]|^\w*error\b[: ]/u
/** Irony, which says the opposite. */
const IRONY =
  /^(?:oh,? (?:sure|great|yeah|right|yes)|yeah,? (?:right|sure)|sure,? (?:let['’]s|never|why)|ja,? (?:klar|genau|sicher)|na klar|klar,|sí,? claro|claro,? claro|はいはい|はい、はい|行啊|好啊|对对对|呵呵|是是是)/u
const GAMES =
  'chess|poker|bridge|football|soccer|tennis|golf|cricket|baseball|basketball|rugby|snooker|darts|checkers|scrabble|monopoly'
const SPIELE =
  'skat|schach|fußball|poker|tennis|handball|doppelkopf|mau-mau|monopoly|volleyball|basketball|kegeln|golf|rommé'
const JUEGOS = 'petanca|ajedrez|mus|fútbol|tenis|póquer|dominó|parchís|baloncesto|golf|tute|brisca|balonmano'
const COUNTRIES =
  'portugal|norway|sweden|ireland|scotland|canada|brazil|poland|greece|turkey|belgium|denmark|finland|australia|norwegen|schweden|irland|schottland|polen|griechenland|belgien|dänemark|finnland|italien|spanien|brasilien|kanada|noruega|suecia|irlanda|italia|polonia|grecia|bélgica|dinamarca|canadá|brasil|japón|china|suiza|austria'
/** Facts about a country, a game, a language of programs or a plan of a vendor. */
const FACTS = whole(
  String.raw`in (?:rust|python|go|golang|java|javascript|typescript|c|ruby|php|sql|kotlin|swift|haskell|scala|postgres\p{L}*|mysql|react|git|html|css|math\p{L}*|germany|france|spain|italy|japan|china|india|england|britain|the (?:uk|us|usa|eu)|europe|america|switzerland|austria|mexico|brazil)(?:,| (?:a|an|the|you|all|every|we|it|one|there)(?= ))|(?:in|auf) (?:der schweiz|deutschland|österreich|europa|frankreich|der eu|python|rust|java|go|sql)|en (?:argentina|españa|méxico|chile|colombia|perú|alemania|francia|europa|python|java|rust|go|sql)|(?:a|an) (?:postgres|mysql|sqlite|oracle|git|unix|linux|ipv4|ipv6|german|us|uk|french|spanish) \p{L}+|eine? (?:deutsche|gültige)r? \p{L}+|free (?:plan|tier|version)|kostenlos\p{L}* (?:tarif|version|plan|konto)|gratis\p{L}*|(?:plan|cuenta|versión) (?:gratuit[ao]|básic[ao]|free)|(?:cuenta|versión) gratuita|catches that|(?:in|at|during) (?:${GAMES})|(?:in|en) (?:${COUNTRIES})|(?:beim?|im) (?:${SPIELE})|(?:al?|en el|en la|a la) (?:${JUEGOS})|leap years?|schaltjahre?|años? bisiestos?|in its (?:source|code)|in sein(?:em|er) (?:quelltext|quellcode|code|doku\p{L}*)|en su código(?: fuente)?|kostenlose\p{L}* konten|according to|laut (?:\p{L}+ )?(?:doku\p{L}*|hersteller|gesetz)|según (?:la documentación|el manual|la ley)|por ley|by law|nach dem gesetz|gesetzlich|eacces|enoent|eperm|econn\p{L}+|npm err`,
)
const FACTS_WRITTEN =
  /下(?:象)?棋|围棋|象棋|麻将|足球|篮球|将棋|囲碁|麻雀|サッカー|野球|バスケ|テニス|チェスで|闰年|うるう年|停电|進不去|进不去|毎度ありがたい|(?:ポルトガル|フランス|イタリア|スペイン|ブラジル|イギリス|スイス|スウェーデン)では|在(?:葡萄牙|法国|意大利|西班牙|英国|德国|日本|瑞士|瑞典|巴西|美国|加拿大)|(?:日本|中国|韓国|韩国|美国|アメリカ|中国大陆|ドイツ|德国)(?:では|の法律|大陆|的(?:手机|身份|法律)|，)|(?:无料|無料|免费|免費|フリー)(?:プラン|版|套餐|账号)|(?:郵便番号|邮政编码|手机号|電話番号)(?:は|必须|必ず|都)|(?:语言|語)(?:里|中|では)|编译不过|コンパイル(?:が通らない|エラー)/u

/** A task for this week, this chart or this moment. */
const ONCE = whole(
  String.raw`(?:just|only) (?:this (?:week|month|time|once|one)|for (?:today|now))|nur (?:diese woche|diesen monat|dieses mal|heute|für heute)|s[oó]lo (?:esta (?:semana|vez)|este mes|hoy|por hoy)|(?:in|on) the (?:first|second|third|fourth|last|next) (?:chart|slide|paragraph|page|line|table|figure|section|image|row|column|sentence|cell|tab|diagram)|(?:im|in der|auf der|in dem) (?:ersten|zweiten|dritten|vierten|letzten|nächsten) (?:diagramm|folie|absatz|seite|zeile|tabelle|abbildung|abschnitt|bild|spalte|satz)|en (?:el|la) (?:primer[ao]?|segund[ao]|tercer[ao]?|cuart[ao]|últim[ao]) (?:gráfic[ao]|diapositiva|párrafo|página|línea|tabla|figura|sección|imagen|fila|columna|frase|diagrama)|^(?:do not|don['’]?t) [^.!]{1,60} (?:just )?yet|noch nicht|^(?:aún|todavía) no|(?:haben|hatten) wir [^,]{1,60} (?:müssen|dürfen|können)`,
)
/** The words of a program or a manual after a colon. */
const CITED = /(?:: ?|heißt es |dice |says |shows |displays )“q”[.!]?$/u
/** Advice below a heading, as in "Spacing: Use …". */
const ADVICE_OF_HEADING =
  /^[a-z][a-z -]{3,40}: (?:ensure|make sure|use|inform|only update|instead of)(?![a-z])|^let (?:me|us|\\)|^let['’]s/u
const ONCE_WRITTEN =
  /(?:今週|今回|今日|今月|一度|一回)だけ|就(?:这|這)(?:周|次|一次|回|一回)|只(?:这|這)(?:一)?次|第[二三四五2-9](?:张|個|个|页|段|行|枚|段落)|ちょっと待って|先(?:别|別|不要)[^。]*(?:还|還|正)|[二三四五2-9]枚目|[二三四五2-9]つ目の/u

const KANA = /\p{Script=Hiragana}/u
/** Advice, reasons and asides at the end of a Japanese sentence. */
const ASIDE_WRITTEN =
  /^[^。！？]*(?:ので|んで)[。！]*$|気がし|たりし(?:ます|て)|みたいです|^いえ|天気|のきれい|とれもきれい|かもしれ(?:ません|ない)|と思って(?:い)?(?:ます|る)|(?:て|で)(?:み|見)て(?:ください|下さい|ほしい|ね|ほしいです)|(?:ます|です|る|た|い|んだ)(?:から|ので|し)(?:ね|よ)?[。！]?$|(?<!ください|下さい|します|て|で|お願い)(?:よ|かな|な|ね|よね|けど|が)[。！]*$/u

/** Text in quotation marks are the words of others, or the words the rule is about. Code is no sentence either. */
const QUOTED = /“[^”„“]{2,}[”“]|„[^“”"]{2,}[“”"]|"[^"]{2,}"|«[^»]{2,}»|「[^」]{2,}」|『[^』]{2,}』|`[^`]+`/gu
const QUOTATION = '“q”'

/** The sentence in lower case, with the words of others replaced by a mark. */
export const readable = (sentence: string): string => {
  const text = sentence.toLowerCase()
  const withMarks = text.replaceAll(QUOTED, QUOTATION)
  // A sentence that is one quotation as a whole is read as it is.
  return withMarks.length * 4 < text.length && withMarks.replaceAll(QUOTATION, '').trim().length < 3 ? text : withMarks
}

export const isIntroduction = (sentence: string): boolean => NO_SENTENCE.test(sentence)
export const isQuestion = (sentence: string): boolean => ASKED.test(sentence) || ASKED_INSIDE.test(sentence)

/** Whether a sentence is advice, a report or a fact, although it has the words of a rule. */
export const isExcluded = (text: string): boolean =>
  COMMIT.test(text) ||
  ERROR.test(text) ||
  IRONY.test(text) ||
  FACTS_WRITTEN.test(text) ||
  ONCE_WRITTEN.test(text) ||
  ADVICE_OF_HEADING.test(text) ||
  CITED.test(text) ||
  text.search(ONCE) >= 0 ||
  (KANA.test(text) && ASIDE_WRITTEN.test(text)) ||
  text.search(FACTS) >= 0 ||
  text.search(ADVICE) >= 0
