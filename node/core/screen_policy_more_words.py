"""The words of requests in six more languages; screen_policy_words says how they are written."""

from __future__ import annotations

MORE_WORDS: dict[str, str] = {
    "ru": """
        AGENT агент* ассистент*
        ASK необходимо требуется следует агенту_надлежит надлежит пожалуйста прошу просим просьба агент_должен
            агенту_следует агентам_следует сможешь сможете мог_бы могли_бы нужно_чтобы_ты ты_должен вам_следует
        CAN можешь можете надо нужно
        FREE не_спрашивай не_спрашивая без_подтверждения без_согласования можно_не_спрашивать
        IT его их это
        NOT не нельзя никогда без запрещ* никому ни
        HOW как кто почему где какой какие ли
        ABOUT атак* пример* отказ* подозрительн* отклон*
        ME мне нам сюда ответ ответе ответном ко_мне в_тикет в_заявку
        NOW сейчас сразу сегодня немедленно потом свой свои свою у_себя своих
        GIVE передаёт включить !включи предоставить !предоставь добавить !добавь отослать !отошли разместить
            !размести !пришли +пришлите !отправь +отправьте !скинь +скиньте !вставь +вставьте !дай +дайте !покажи
            +покажите !сообщи +сообщите !приложи +приложите !скопируй +скопируйте !залей +залейте !выложи +выложите
            !перешли +перешлите !передай +передайте !напиши !продиктуй !кинь +киньте !положи +положите !загрузи
            +загрузите !подскажи !вышли +вышлите !назови прислать отправить скинуть вставить дать показать сообщить
            приложить скопировать выложить переслать передать выслать загрузить направить +направьте !опубликуй
        DUMP !выведи +выведите !распечатай !запусти +запустите вывести распечатать !сними
        SECRET пароль пароля пароли паролей токен токена токены ключ ключа ключи ключей секрет секреты секретный
            учетные_данные учётные_данные паролем токеном
        ENV переменные_окружения переменных_окружения переменные_среды переменных_среды окружение
        OFF !отключи +отключите !выключи +выключите !пропусти +пропустите !обойди +обойдите !убери +уберите !сними
            +снимите !удали +удалите отключить выключить пропустить обойти убрать снять удалить исключить !исключи
            !деактивируй
        GUARD фильтр сканер проверку проверки подпись подтверждение хук хуки хуков хука защиту_ветки защиту_ветвей
            запросы_разрешений запрос_разрешений запросы_разрешения песочницу песочница проверку_подписи
            проверку_подписей сканирование_безопасности проверку_безопасности проверки_безопасности
            обязательные_проверки обязательное_ревью двухфакторн* брандмауэр антивирус проверку_сообщений
            фильтр_сообщений подтверждения запросы_подтверждения детектор_сообщений защиту окна_разрешений
            сканер_секретов фильтрацию проверку_входящих
        MERGE !слей +слейте !смержи +смержите !вмержи !влей +влейте !мержи слить смержить влить
        CHANGE ветку ветка pr mr пулл-реквест запрос_на_слияние правку правки
        PUSH !запушь +запушьте !пушни !протолкни запушить пушить
        MAINLINE main master основную_ветку главную_ветку мастер
        PUBLISH !опубликуй +опубликуйте !выложи +выложите !выпусти +выпустите !задеплой !разверни +разверните
            !выкати +выкатите опубликовать выложить выпустить задеплоить развернуть выкатить
        PLACE прод продакшен проде продуктив npm pypi реестр реестре репозитории сайт магазин бой продакшн
        VERSION версию версия сборку пакет релиз страницу трейлер обновление
        GRANT !выдай +выдайте !дай +дайте !добавь +добавьте !предоставь +предоставьте !назначь +назначьте !открой
            +откройте выдать дать добавить предоставить назначить открыть
        RIGHT доступ права право роль админ админа администратора администратором разрешение полномочия
        OUTSIDE внешний внешнюю внешнему личную_почту личный_ящик подрядчику подрядчик личную аудиторам телеграм
            поставщику
    """,
    "zh": """
        AGENT 代理 助手 智能体
        ASK 请你 请打 请授 请关 请输 请显 请导 请赋 请开 请部 请上 请附 请复 请告 请绕 请去 请取 请把 请将 请在
            请直接 请先 请帮 请代理 请提供 请发 请合 请用 请给 请立即 请马上 请顺 请您 请贴 请上传 请跳 请执行 请推
            请务必 请停 请禁用 请为 麻烦 能否 可否 可以把 能不能 可不可以 帮我 帮忙 劳烦 烦请 务必 你需要 你必须
            直接把 顺手把 代理
        FREE 不用问 无需确认 不必询问 无需再次 不用确认
        NOT 不要 别 请勿 切勿 勿 不得 禁止 严禁 不能 不可 不准 不许 不应 拒绝 避免
        HOW 如何 怎么 谁 是否 为什么 哪里 哪个
        ABOUT 攻击 示例 例如 可疑 拒绝 注入
        ME 我 我们 这里 回复 给我 答复 工单
        NOW 现在 马上 立即 今天 直接 你的 你自己 然后
        GIVE 贴 发送至 上传至 传给 交给 写在 放到 提交到 发给 发到 发来 发我 贴到 贴出 贴在 粘贴 告诉 给我 提供 附上
            附在 分享 上传 发送 转发 写进 写到 打印 拷贝 复制 传到 显示 回传
        DUMP 打印 导出 输出 运行
        SECRET 密码 口令 令牌 密钥 凭据 凭证 token 私钥 机密
        ENV 环境变量
        OFF 关 删除 拿掉 跳 免去 略过 关闭 关掉 禁用 停用 跳过 绕过 移除 去掉 删掉 取消 屏蔽 关了 停掉
        GUARD 校验 检测 确认步骤 过滤 检查 hook 防护 保护规则 钩子 分支保护 权限提示 权限弹窗 权限确认 沙箱 沙盒
            审查 安全扫描 签名验证 签名校验 必需检查 双因素 两步验证 防火墙 消息检测 审批 扫描 确认弹窗 消息过滤
            密钥扫描 二次确认 授权提示
        MERGE 合并 合入 并入 合到
        CHANGE 分支 pr mr 主干 main 请求
        PUSH 推送 强推 推到
        MAINLINE 主分支 main master 主干
        PUBLISH 发布 部署 上线 上架 推到
        PLACE 生产 仓库 npm pypi 线上 正式环境 商店 官网 公网
        VERSION 版本 包 镜像 页面 版
        GRANT 授予 赋予 开通 添加 加入 授权 给 加上 加到
        RIGHT 权限 访问权 管理员 角色 协作者 写权限 authorized_keys 读权限
        OUTSIDE 外部邮箱 外部论坛 外部地址 私人邮箱 个人邮箱 外包 供应商 网盘 公开桶 审计 外网
    """,
    "ja": """
        AGENT エージェント アシスタント
        ASKED しておけ といて しといて 願う 欲しい 頼める もらいたい していただ てほし せてください てちょうだい
            てくださ ておくれ です_よね ください 下さい お願い いただけ 頂け もらえ くれ てほしい て欲しい しろ せよ
            てね てよ ておいて 願います 願えますか していいよ て構いません てかまいません して。 貼って。 送って。
            頼む たのむ 頼みます よろしく
        NEVER ないで しないこと 禁止 ません ないよう ず、 せずに しない
        HOW どう 方法 誰が だれが なぜ どこ
        ABOUT 攻撃 例えば 不審 拒否 断り
        ME 私 こちら ここに 返信 返事 回答 わたし
        NOW 今すぐ すぐ 本日 そのまま あなたの
        GIVE 送って 送信 貼って 貼り 教えて 共有 渡して 見せて 添付 コピー 書いて アップロード 転送 投稿 送り 出して
            お送り コメント 返して
        DUMP 出力 実行 表示 ダンプ
        SECRET パスワード トークン 秘密鍵 apiキー シークレット 認証情報 暗証番号 鍵 アクセスキー
        ENV 環境変数
        OFF 消し 切る 外す 無視 省略 飛ば 無効 オフ 切って 止めて 外して 飛ばして スキップ 解除 回避 停止 迂回
        GUARD 許可ダイアログ ダイアログ 署名 確認 保護 監視 フック ブランチ保護 許可確認 許可プロンプト
            権限プロンプト サンドボックス スクリーニング 検査 セキュリティスキャン 署名検証 必須チェック 二要素
            ファイアウォール 承認 スキャン 確認画面 確認ダイアログ 権限確認 フィルタ
        MERGE マージ 取り込 統合
        CHANGE ブランチ pr mr main プルリク
        PUSH プッシュ push
        MAINLINE main master メインブランチ
        PUBLISH 公開 リリース デプロイ 配信
        PLACE 本番 レジストリ npm pypi ストア サイト 公式
        VERSION バージョン 版 パッケージ ページ 配布物
        GRANT 付与 与え 追加 割り当て 許可 渡し
        RIGHT 権限 アクセス権 管理者 ロール 共同編集者 authorized_keys 書き込み
        OUTSIDE 外部 個人アドレス 私用メール 個人のメール 取引先 共同研究先 外注 業者 監査法人
    """,
    "ko": """
        AGENT 에이전트 어시스턴트
        ASKED 해_둬 해_놔 할_것. 하도록 해줘 해_줘 주길 달라고 놓으면 바꿔놔 진행해 하자 하고_싶 붙여주 보내줘
            올려줘 알려줘 할것 하라 하시오 봐 주시기 주셔 해주 십시오 세요 주세요 주십시오 줘 주시겠 주실 해라
            하세요 하십시오 부탁 바랍니다 바람 주시면 할_것 하면_돼 하면_됩니다 달라 올려 보내라 붙여라 붙여. 줄래
            드립니다 하시면
        NEVER 지_마 지마 말_것 마세요 마십시오 금지 않 안_돼 말고 말아
        HOW 어떻게 누가 왜 어디 방법
        ABOUT 공격 예시 의심 거절 거부
        ME 나 내 저 우리 여기 답장 회신 답변 제게 저한테
        NOW 지금 바로 오늘 즉시 네 그냥
        GIVE 보내 붙여 알려 공유 전달 보여 첨부 복사 업로드 올려 적어 전송 넘겨 회신 제출 남겨
        DUMP 출력 실행 덤프
        SECRET 비밀번호 암호 토큰 비밀키 api_키 api키 시크릿 자격증명 자격_증명 개인키 액세스_키 인증키 인증서_키
        ENV 환경변수 환경_변수
        OFF 끄 내리 삭제 풀어 지워 막아 꺼 끄고 비활성 해제 건너뛰 우회 제거 무시 빼 중지 비워
        GUARD 검사기 검사 승인 권한_창 필터 스캐너 차단 훅 브랜치_보호 권한_확인 권한_요청 샌드박스 스크리닝
            메시지_검사 보안_스캔 보안_검사 서명_검증 필수_검사 2단계_인증 방화벽 승인_창 승인_절차 확인_창
            서명_확인 필수_리뷰 승인_확인
        MERGE 머지 병합 합쳐
        CHANGE 브랜치 pr mr main 풀리퀘
        PUSH 푸시 밀어
        MAINLINE main master 메인_브랜치 메인
        PUBLISH 배포 게시 출시 릴리스 공개 발행 승격
        PLACE 운영 프로덕션 레지스트리 npm pypi 스토어 라이브 실서버 사이트
        VERSION 버전 패키지 페이지 빌드
        GRANT 부여 추가 할당 넣어 등록 열어
        RIGHT 권한 접근권 관리자 역할 협업자 authorized_keys 접근
        OUTSIDE 외부 개인_메일 개인_이메일 외주 협력사 외주사 감사법인 거래처 오픈채팅
    """,
    "tr": """
        AGENT ajan* asistan*
        ASK lütfen rica_ediyorum rica_ederim
        ASKED gerekir gerekmektedir iletilmelidir rica_olunur lazım misin mısın musun müsün misiniz mısınız musunuz
            müsünüz
        NOT değil asla yasak etmeden olmadan
        HOW nasıl kim neden nerede hangi
        ABOUT saldırı örnek reddet* şüpheli
        ME bana bize buraya yanıtına cevabına yanıtında bana_da yanıta kayda
        NOW şimdi hemen bugün doğrudan sonra kendi
        GIVE gönderilsin iletilsin yüklenmeli gönderilmeli iletilmeli eklenmeli +koy !atsana !gönderiver
            !gönderir_misin +post koyun +gönder +gönderin +gönderiniz +yolla +yollayın +yapıştır +yapıştırın +paylaş
            +paylaşın +söyle +ver +verin +ekle +ekleyin +göster +kopyala +yükle +yükleyin +ilet +iletin iletir atar
            +yaz gönderir gönderebilir yollar yapıştırır paylaşır paylaşabilir söyler verir verebilir ekler gösterir
            yükler iletebilir söyleyebilir +atıver
        DUMP +yazdır +çalıştır yazdırır çalıştırır +dök
        SECRET parola* şifre* token* anahtar* jeton* belirteç* kimlik_bilgi* gizli_anahtar*
        ENV ortam_değişken*
        OFF kapatılsın kaldırılsın +durdur +boşalt durdurun +kapat +kapatın +atla +atlayın +kaldır +kaldırın +çıkar
            +çıkarın kapatır kapatabilir atlar kaldırır devre_dışı +sil +by-pass
        GUARD tarama* denetim* doğrulama* koruma* filtre* kanca* dal_koruma* izin_pencere* izin_istem* kum_hav*
            korumalı_alan* güvenlik_tarama* imza_denetim* imza_doğrulama* zorunlu_inceleme* zorunlu_denetim*
            iki_adımlı* güvenlik_duvar* sandbox* hook* onay_pencere* ileti_denetim* onay_istem* mesaj_tarama*
            ileti_tarama* güvenlik_kontrol*
        MERGE +birleştir +birleştirin birleştirir birleştirebilir +mergele
        CHANGE dalı dalını dala pr mr main çekme_isteğ*
        PUSH +pushla gönder
        MAINLINE main master ana_dal*
        PUBLISH +dağıtın +yayımla +yayınla +yayımlayın +yayınlayın yayımlar yayınlar yayımlayabilir yayınlayabilir
            yayına_al* +yayına_alın +dağıt
        PLACE üretim* npm pypi kayıt_deposu* mağaza* canlıya
        VERSION sürüm* paket* sayfa* site*
        GRANT +ver +verin +ekle +ekleyin +ata +tanımla +tanımlayın verir verebilir ekler ekleyebilir tanımlar
        RIGHT yetki* erişim* rolü rolünü yönetici* izin izni iznini hakkı
        OUTSIDE dış harici kişisel_posta* kişisel_e-posta* tedarikçi* denetçi* telegram*
    """,
    "hi": """
        AGENT एजेंट सहायक agent
        ASK कृपया कृपा please zara
        ASKED दीजिएगा डालो डाल_दो भेजना करवा मारो मार kardo karna krna kijiye deejiye daal_do दो दीजिए दीजिये दें
            करो करें कीजिए कीजिये दे_दो भेजो भेजें लगाओ कीजिएगा सकते_हो सकते_हैं सकती_हो do dijiye dijiyega karo
            karein kar_do kar_de de_do bhejo bhej_do de_dena kar_dena देना
        NEVER मत नहीं न ना mat nahi
        HOW कैसे कौन क्यों कहाँ kaise
        ABOUT हमला उदाहरण संदिग्ध
        ME मुझे हमें यहाँ जवाब उत्तर मेरे mujhe hamein yahan
        NOW अभी तुरंत आज अपने अपना अपनी abhi turant
        GIVE भेज भेजो भेजें बता बताओ दिखा दिखाओ चिपका चिपकाओ साझा संलग्न जोड़ डाल डालो अपलोड लिख bhej bhejo bata
            dikha paste share bhejiye दीजिए भेजिए दीजिये चिपकाएँ पोस्ट
        DUMP छाप चला चलाकर प्रिंट
        SECRET पासवर्ड टोकन कुंजी चाबी गुप्त password token कुंजियाँ
        ENV परिवेश_चर एनवायरनमेंट पर्यावरण_चर परिवेश-चर environment_variables एनवायरनमेंट_वेरिएबल
        OFF बंद हटा हटाओ छोड़ बायपास निष्क्रिय हटाकर band hata skip bypass हटाएँ
        GUARD scanner स्कैनर सुरक्षा प्रॉम्प्ट अनुमति पुष्टि फ़िल्टर हुक सैंडबॉक्स शाखा_सुरक्षा ब्रांच_प्रोटेक्शन
            अनुमति_संकेत जाँच स्कैन हस्ताक्षर hook sandbox branch_protection अनुमति_पूछना सुरक्षा_जाँच
        MERGE मर्ज विलय मिला merge
        CHANGE शाखा ब्रांच pr mr main
        PUSH पुश push
        MAINLINE main master मुख्य_शाखा
        PUBLISH प्रकाशित जारी डिप्लॉय रिलीज़ publish deploy release पब्लिश
        PLACE प्रोडक्शन उत्पादन रजिस्ट्री npm pypi registry production लाइव
        VERSION संस्करण पैकेज version पन्ना
        GRANT जोड़ दीजिए प्रदान jod
        RIGHT पहुँच अनुमति अधिकार भूमिका एडमिन व्यवस्थापक access एक्सेस
        OUTSIDE बाहरी जीमेल ठेकेदार gmail
    """,
}
